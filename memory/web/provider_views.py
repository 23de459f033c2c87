"""The providers page: status, choice and conformance of each provider."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from memory import workspace_tree
from memory.providers import parity_runs, registry
from memory.web import pages
from memory.web.fragments import target_fragment


@require_GET
def provider_list(request: HttpRequest) -> HttpResponse:
    """Show every provider; each poll of the page checks their status again."""
    actor = pages.actor(request)
    actor.require("providers.read")
    states = parity_runs.provider_states(actor.workspace_id)
    context = {
        "states": states,
        "down": sum(not state.pulse.ok for state in states),
        "chosen": next((state for state in states if state.is_chosen), None),
    }
    template = f"memory/providers.html{target_fragment(request, 'statuses')}"
    return render(request, template, context)


@require_POST
def choose(request: HttpRequest, name: str) -> HttpResponse:
    """Choose the workspace's provider, for an admin."""
    actor = pages.actor(request)
    is_changed = registry.choose(workspace_tree.workspace(actor), name, by=actor)
    title = registry.entry(name).title
    result = "is used from now on" if is_changed else "was in use already"
    messages.success(request, f"{title} {result}")
    return redirect("providers")


@require_POST
def run(request: HttpRequest, name: str) -> HttpResponse:
    """Run the conformance suite on a provider, for an admin; takes seconds."""
    actor = pages.actor(request)
    parity_run = parity_runs.run_now(workspace_tree.workspace(actor), name, by=actor)
    add_message = messages.error if parity_run.failed else messages.success
    add_message(
        request, f"{name}: {parity_run.passed} passed, {parity_run.failed} failed"
    )
    return redirect("providers")

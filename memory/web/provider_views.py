"""The providers page: status, choice and conformance of each provider."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from memory import workspace_tree
from memory.providers import parity_runs, registry
from memory.web import pages


@require_GET
def provider_list(request: HttpRequest) -> HttpResponse:
    """Show every provider; each poll of the page checks their status again."""
    actor = pages.actor(request)
    actor.require("providers.read")
    states = parity_runs.provider_states(actor.workspace_id)
    context = {
        "states": states,
        "down": sum(not state.pulse.ok for state in states),
        "down_names": ", ".join(
            gettext(state.entry.title) for state in states if not state.pulse.ok
        ),
        "chosen": next((state for state in states if state.is_chosen), None),
    }
    template = f"memory/providers.html{pages.target_fragment(request, 'statuses')}"
    return render(request, template, context)


@pages.action("providers")
def choose(request: HttpRequest, name: str) -> str:
    """Choose the workspace's provider, for an admin."""
    actor = pages.actor(request)
    is_changed = registry.choose(workspace_tree.workspace(actor), name, by=actor)
    title = gettext(registry.entry(name).title)
    if is_changed:
        return gettext("{provider} is used from now on").format(provider=title)
    return gettext("{provider} was in use already").format(provider=title)


@pages.action("providers")
def run(request: HttpRequest, name: str) -> tuple[int, str]:
    """Run the conformance suite on a provider, for an admin; takes seconds."""
    actor = pages.actor(request)
    result = parity_runs.run_now(workspace_tree.workspace(actor), name, by=actor)
    level = messages.ERROR if result.failed else messages.SUCCESS
    text = gettext("{provider}: {passed} passed, {failed} failed").format(
        provider=name, passed=result.passed, failed=result.failed
    )
    return level, text

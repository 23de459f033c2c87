"""The acts of the first steps on home: the first agent, and its key."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from crewship_memory import first_run, home
from crewship_memory.first_run_form import FirstAgentForm
from memory.journal import queries
from memory.models import Agent
from memory.rules import errors
from memory.web import pages


@require_http_methods(pages.METHODS)
def add_agent(request: HttpRequest) -> HttpResponse:
    """Add the first agent with its crew; a GET redirects to home."""
    actor = pages.actor(request)
    if request.method != "POST":
        return redirect("home")
    actor.require("agents.manage")
    form = FirstAgentForm(request.POST)

    def add(fields: dict[str, Any]) -> Agent:
        return first_run.add_agent(fields["crew"], fields["agent"], by=actor)

    agent, status = pages.submit(form, add, faulty="agent")
    if agent is None:
        return home.whole_page(request, actor, status, form=form)
    return redirect("home")


@never_cache
@require_http_methods(pages.METHODS)
def issue_key(request: HttpRequest) -> HttpResponse:
    """Issue the agent's key and show it at once: only its digest is stored."""
    actor = pages.actor(request)
    if request.method != "POST":
        return redirect("home")
    # Before the key: its own entry in the journal does not end the first run.
    first = first_run.read(actor, queries.chain_length(actor.workspace_id))
    if first is None:
        detail = gettext("The first steps are over here. The page Keys issues keys.")
        raise errors.Conflict(detail)
    issued = first_run.issue_key(request.POST.get("agent", ""), by=actor)
    context = {
        **home.first_steps(request, actor, first.with_key_of(issued), issued.token),
        "issued": issued,
    }
    if pages.target_fragment(request, "first-run"):
        return render(request, "_first_run.html", context, status=201)
    return home.whole_page(request, actor, 201, **context)

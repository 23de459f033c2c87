"""The first page and the workspace switch."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HTMX_STOP_POLLING

from crewship_memory import (
    auth,
    changes,
    first_run,
    first_snippets,
    machine,
    work_list,
)
from crewship_memory.first_run import FirstRun, Stage
from crewship_memory.first_run_form import FirstAgentForm
from episodic.web import health_page
from memory import overview
from memory.accounts import visits
from memory.models import User
from memory.rules import errors
from memory.rules.permissions import Actor, role_name
from memory.web import pages


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """Show what waits for the reader; htmx polls the state of the machine alone.

    In a new workspace it polls for the first entry as well.
    """
    if getattr(request, "actor", None) is None:
        return render(request, "no_workspace.html")
    actor = pages.actor(request)
    if pages.target_fragment(request, "arrival"):
        return _arrival(request, actor)
    if not pages.fragment(request, "machine_state"):
        return whole_page(request, actor)
    return render(request, "home.html#machine_state", _live(machine.read(actor)))


def whole_page(
    request: HttpRequest, actor: Actor, status: int = 200, **extra_context: Any
) -> HttpResponse:
    """Return the page; the context is what a form of the first steps adds."""
    state = machine.read(actor)
    activity = overview.activity(actor)
    first = first_run.read(actor, activity.entry_count)
    health = health_page.panel(actor)
    context = {
        **_live(state),
        **first_steps(request, actor, first),
        "lacks_subjects": first_run.lacks_subjects(actor, activity.entry_count),
        "activity": activity,
        "crew_count": sum(1 for crew in activity.crews if crew.crew_id),
        "agent_count": sum(len(crew.agents) for crew in activity.crews),
        "changes": changes.since(actor, visits.arrive(actor)),
        "work": work_list.build(actor, state, health.lines),
        "health": health,
    }
    if first is None or first.entry is not None:
        day = timezone.now() - timedelta(days=1)
        context["escalations"] = overview.escalations(actor)
        context["loud"] = overview.alerts(actor, since=day)
    return render(request, "home.html", context | extra_context, status=status)


def _live(state: machine.Machine) -> dict[str, Any]:
    return {"machine": state, "recall": state.recall, "now": timezone.now()}


# ── The first steps ──────────────────────────────────────────────────────────
def first_steps(
    request: HttpRequest, actor: Actor, first: FirstRun | None, token: str = ""
) -> dict[str, Any]:
    """Return the context of the first steps; a new key stands in what is copied."""
    context: dict[str, Any] = {"first": first}
    if first is None or not actor.can("keys.manage"):
        return context
    if first.stage is Stage.AGENT:
        context["form"] = FirstAgentForm()
    if first.stage is Stage.ENTRY:
        origin = f"{request.scheme}://{request.get_host()}"
        context["tabs"] = first_snippets.tabs(origin, token)
    return context


def _arrival(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Return the first entry once it is there, and end the poll; 204 until then."""
    entry = first_run.first_entry(actor)
    if entry is None:
        return HttpResponse(status=204)
    context = {"first": first_run.introduction(entry), "arriving": True}
    response = render(request, "_first_run.html#arrived", context)
    response.status_code = HTMX_STOP_POLLING
    return response


@require_POST
def choose_workspace(request: HttpRequest) -> HttpResponse:
    """Switch to another workspace; NotFound without a membership."""
    workspace_id = request.POST.get("workspace", "")
    for member in auth.memberships(cast("User", request.user)):
        if member.workspace_id == workspace_id:
            request.session[auth.SESSION_WORKSPACE] = workspace_id
            text = gettext("You work in {workspace} now, as {role}.").format(
                workspace=member.workspace.slug, role=role_name(member.role)
            )
            messages.info(request, text)
            return redirect("home")
    raise errors.NotFound

"""The first page and the workspace switch."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from crewship_memory import auth, changes, machine, work_list
from episodic.web import health_page
from memory import overview
from memory.accounts import visits
from memory.models import User
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.web import pages

# A journal this long was not written by people setting up.
WELL_BEGUN: Final = 200


@dataclass(frozen=True, slots=True)
class FirstSteps:
    """The first steps of a workspace whose agents have written nothing yet."""

    crews: int
    agents: int
    keys: int

    @property
    def completed(self) -> int:
        return sum(1 for count in (self.crews, self.agents, self.keys) if count)


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """Show what waits for the reader; htmx polls the state of the machine alone."""
    if getattr(request, "actor", None) is None:
        return render(request, "no_workspace.html")
    actor = pages.actor(request)
    part = pages.fragment(request, "machine_state")
    state = machine.read(actor)
    context: dict[str, Any] = {
        "machine": state,
        "recall": state.recall,
        "now": timezone.now(),
    }
    if not part:
        context |= _static_context(actor, state)
    return render(request, f"home.html{part}", context)


def _static_context(actor: Actor, state: machine.Machine) -> dict[str, Any]:
    """Return the context of the page outside of the live part."""
    day = timezone.now() - timedelta(days=1)
    activity = overview.activity(actor)
    health = health_page.panel(actor)
    return {
        "activity": activity,
        "crew_count": sum(1 for crew in activity.crews if crew.crew_id),
        "agent_count": sum(len(crew.agents) for crew in activity.crews),
        "changes": changes.since(actor, visits.arrive(actor)),
        "begin": _first_steps(actor, activity),
        "work": work_list.build(actor, state, health.lines),
        "escalations": overview.escalations(actor),
        "loud": overview.alerts(actor, since=day),
        "health": health,
    }


def _first_steps(actor: Actor, activity: overview.Activity) -> FirstSteps | None:
    """Return the first steps, for people who may do them."""
    if activity.entry_count >= WELL_BEGUN or not actor.can("keys.manage"):
        return None
    crews = overview.crews(actor)
    agents = [row for crew in crews for row in crew.agents]
    if any(row.latest for row in agents):
        return None
    return FirstSteps(len(crews), len(agents), sum(row.active_keys for row in agents))


@require_POST
def choose_workspace(request: HttpRequest) -> HttpResponse:
    """Switch to another workspace; NotFound without a membership."""
    workspace_id = request.POST.get("workspace", "")
    for member in auth.memberships(cast("User", request.user)):
        if member.workspace_id == workspace_id:
            request.session[auth.SESSION_WORKSPACE] = workspace_id
            text = f"You work in {member.workspace.slug} now, as {member.role}."
            messages.info(request, text)
            return redirect("home")
    raise errors.NotFound

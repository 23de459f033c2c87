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

from crewship_memory import auth
from episodic.health import overview as recall_overview
from episodic.web import health_page
from gdpr.cases import overview as case_overview
from memory import overview
from memory.models import HeldState, User
from memory.review import detail as review_detail
from memory.review import queue as review_queue
from memory.review.detail import Line
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.web import pages

HELD_LINES: Final = 4
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
    """Show the findings with their evidence; htmx polls the live part alone."""
    if getattr(request, "actor", None) is None:
        return render(request, "no_workspace.html")
    actor = pages.actor(request)
    part = pages.fragment(request, "recall_status")
    context: dict[str, Any] = {
        "recall": recall_overview.card(actor),
        "live": bool(part),
        "now": timezone.now(),
    }
    if not part:
        context |= _static_context(actor)
    return render(request, f"home.html{part}", context)


def _static_context(actor: Actor) -> dict[str, Any]:
    """Return the context of the page outside of the live part."""
    day = timezone.now() - timedelta(days=1)
    activity = overview.activity(actor)
    return {
        "activity": activity,
        "begin": _first_steps(actor, activity),
        "held": _held_lines(actor),
        "escalations": overview.escalations(actor),
        "loud": overview.alerts(actor, since=day),
        "health": health_page.panel(actor),
        "urgent": case_overview.urgent(actor),
    }


def _held_lines(actor: Actor) -> list[Line] | None:
    """Return the most urgent held texts, without marking them as viewed."""
    if not actor.can("quarantine.read"):
        return None
    filters = review_queue.HeldFilter(state=HeldState.HELD.value)
    page = review_queue.page(actor, filters, limit=HELD_LINES)
    return [review_detail.line(text) for text in page.items]


def _first_steps(actor: Actor, activity: overview.Activity) -> FirstSteps | None:
    """Return the first steps, for people who may do them."""
    if activity.total >= WELL_BEGUN or not actor.can("keys.manage"):
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

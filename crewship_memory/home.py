"""The first page: what is true now. And the two ways from anywhere: find, switch."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, cast
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from crewship_memory import auth
from episodic.health import overview as recall_overview
from episodic.web import health_page
from gdpr.cases import overview as case_overview
from memory import overview, workspace_tree
from memory.models import HeldState, User
from memory.review import detail as review_detail
from memory.review import queue as review_queue
from memory.review.detail import Line
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.web import pages

ENTRY_ID: Final = re.compile(r"j_[0-9a-f]{4,32}")
HELD_SHOWN: Final = 4
# A journal this long was not written by people setting up.
WELL_BEGUN: Final = 200


@dataclass(frozen=True, slots=True)
class Beginning:
    """How far a new workspace has come; its agents have written nothing yet."""

    crews: int
    agents: int
    keys: int

    @property
    def done(self) -> int:
        """How many of the first steps are behind."""
        return sum(1 for count in (self.crews, self.agents, self.keys) if count)


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """Show the finding and its evidence; htmx asks for the live part alone."""
    if getattr(request, "actor", None) is None:
        return render(request, "no_workspace.html")
    actor = pages.actor(request)
    part = pages.part(request, "pulse")
    context: dict[str, Any] = {
        "recall": recall_overview.card(actor),
        "live": bool(part),
        "now": timezone.now(),
    }
    if not part:
        context |= _still(actor)
    return render(request, f"home.html{part}", context)


def _still(actor: Actor) -> dict[str, Any]:
    """Return what the page shows beside the live part."""
    day = timezone.now() - timedelta(days=1)
    activity = overview.activity(actor)
    return {
        "activity": activity,
        "begin": _beginning(actor, activity),
        "held": _held(actor),
        "escalations": overview.escalations(actor),
        "loud": overview.loud(actor, since=day),
        "health": health_page.board(actor),
        "urgent": case_overview.urgent(actor),
    }


def _held(actor: Actor) -> list[Line] | None:
    """Return what is most urgent to review; nothing of it counts as looked at here."""
    if not actor.can("quarantine.read"):
        return None
    wanted = review_queue.HeldFilter(state=HeldState.HELD.value)
    found = review_queue.page(actor, wanted, limit=HELD_SHOWN)
    return [review_detail.line(held) for held in found.items]


def _beginning(actor: Actor, activity: overview.Activity) -> Beginning | None:
    """Return the first steps for who can take them, until an agent has written."""
    if activity.total >= WELL_BEGUN or not actor.can("keys.manage"):
        return None
    crews = overview.crews(actor)
    agents = [row for crew in crews for row in crew.agents]
    if any(row.latest for row in agents):
        return None
    return Beginning(len(crews), len(agents), sum(row.active_keys for row in agents))


@require_GET
def find(request: HttpRequest) -> HttpResponse:
    """Lead to an entry by its id, to an agent's entries, or to a search for words."""
    actor = pages.actor(request)
    wanted = request.GET.get("find", "").strip()[:500]
    if ENTRY_ID.fullmatch(wanted):
        return redirect("memory:entry", wanted)
    journal = reverse("memory:journal")
    if not wanted:
        return redirect(journal)
    folded = wanted.lower()
    for agent in workspace_tree.agents(actor):
        if folded in (agent.slug, agent.id):
            return redirect(f"{journal}?{urlencode({'agent_id': agent.id})}")
    return redirect(f"{journal}?{urlencode({'q': wanted})}")


@require_POST
def choose_workspace(request: HttpRequest) -> HttpResponse:
    """Work in another workspace from now on; one that is not theirs is NotFound."""
    wanted = request.POST.get("workspace", "")
    for member in auth.memberships(cast("User", request.user)):
        if member.workspace_id == wanted:
            request.session[auth.SESSION_WORKSPACE] = wanted
            text = f"You work in {member.workspace.slug} now, as {member.role}."
            messages.info(request, text)
            return redirect("home")
    raise errors.NotFound

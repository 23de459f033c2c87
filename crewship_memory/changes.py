"""What changed in a workspace since a person's visit before, as counts with links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import QuerySet
from django.urls import reverse

from episodic.models import ConsolidationProposal, ProposalState
from gdpr.models import Case
from memory.journal import queries
from memory.models import HeldFile, HeldState
from memory.rules.entries import ActorType
from memory.rules.permissions import Actor
from memory.web.pages import address

# Counting ends here: more than this reads as "1,000 and more".
COUNT_LIMIT: Final = 1000


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """One kind of change with its count in words, and the page that lists it."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes since ``at``; no lines on a first visit or when nothing changed."""

    at: datetime | None
    lines: tuple[ChangeLine, ...] = ()


def since(actor: Actor, at: datetime | None) -> Changes:
    """Return what changed since a moment, of what the actor may read."""
    if at is None:
        return Changes(None)
    return Changes(at, (*_memory(actor, at), *_review(actor, at), *_cases(actor, at)))


def _lines(
    rows: QuerySet[Any], singular: str, plural: str, url: str
) -> Iterator[ChangeLine]:
    """Return a line for the rows, none without any; it reads at most the limit."""
    number = rows.order_by()[: COUNT_LIMIT + 1].count()
    if number > COUNT_LIMIT:
        yield ChangeLine(f"{COUNT_LIMIT:,} and more {plural}", url)
    elif number:
        yield ChangeLine(f"{number:,} {singular if number == 1 else plural}", url)


def _memory(actor: Actor, at: datetime) -> Iterator[ChangeLine]:
    if actor.can("journal.read"):
        rows = queries.visible_entries(actor).filter(
            ts__gte=at, actor_type=ActorType.AGENT.value
        )
        yield from _lines(
            rows, "new entry by agents", "new entries by agents",
            address("memory:journal", since=at.strftime("%Y-%m-%dT%H:%M")),
        )  # fmt: skip
    if actor.can("proposals.read"):
        proposals = ConsolidationProposal.objects.filter(
            workspace_id=actor.workspace_id,
            state=ProposalState.PENDING,
            created_at__gte=at,
        )
        url = reverse("proposals:list")
        yield from _lines(proposals, "new proposal", "new proposals", url)


def _review(actor: Actor, at: datetime) -> Iterator[ChangeLine]:
    if actor.can("quarantine.read"):
        held = HeldFile.objects.filter(
            workspace_id=actor.workspace_id, state=HeldState.HELD, received_at__gte=at
        )
        url = reverse("quarantine:inbox")
        yield from _lines(held, "text newly held", "texts newly held", url)


def _cases(actor: Actor, at: datetime) -> Iterator[ChangeLine]:
    if not actor.can("gdpr.read"):
        return
    rows, url = (
        Case.objects.filter(workspace_id=actor.workspace_id),
        reverse("privacy:cases"),
    )
    opened, closed = rows.filter(opened_at__gte=at), rows.filter(closed_at__gte=at)
    yield from _lines(opened, "case opened", "cases opened", url)
    closed_url = address("privacy:cases", state="closed")
    yield from _lines(closed, "case closed", "cases closed", closed_url)

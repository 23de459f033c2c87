"""What changed in a workspace since a person's visit before, as counts with links."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import QuerySet
from django.urls import reverse

from episodic.agents import facts
from episodic.health import snapshots
from episodic.models import ConsolidationProposal, ProposalState
from gdpr.models import Case, Certificate
from memory.jobs import status as job_status
from memory.journal import queries
from memory.models import HeldFile, HeldState
from memory.rules.entries import ActorType
from memory.rules.permissions import Actor
from memory.web.pages import address

# Counting ends here: more than this reads as "1,000 and more".
COUNT_LIMIT: Final = 1000
HELD_DECIDED: Final = tuple(
    f"memory.held_{state.value}" for state in HeldState if state is not HeldState.HELD
)
PROPOSALS_DECIDED: Final = ("memory.consolidated", "memory.consolidation_rejected")


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
    sources = (_memory, _agents, _review, _cases, _machine)
    return Changes(at, tuple(line for of in sources for line in of(actor, at)))


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
    yield from _score(actor, at)


def _score(actor: Actor, at: datetime) -> Iterator[ChangeLine]:
    """Return the newest score, when it was measured since and differs from before."""
    if not actor.can("health.read"):
        return
    before, now = snapshots.around(actor, at)
    if before is None or now is None or f"{before.score:.1f}" == f"{now.score:.1f}":
        return
    day = f"{before.date.day} {before.date:%b}"
    text = f"health {now.score:.1f}, it was {before.score:.1f} on {day}"
    yield ChangeLine(text, reverse("health:page"))


def _agents(actor: Actor, at: datetime) -> Iterator[ChangeLine]:
    if actor.can("agents.read"):
        url = address("workspace:agents", show=facts.SILENT.name)
        yield from _lines(
            facts.fallen_silent(actor, at),
            "agent fell silent", "agents fell silent", url,
        )  # fmt: skip


def _decisions(actor: Actor, at: datetime, types: Collection[str]) -> QuerySet[Any]:
    """Return the decisions of other people, as entries of the journal."""
    rows = queries.visible_entries(actor).filter(
        ts__gte=at, entry_type__in=types, actor_type=ActorType.USER.value
    )
    return rows.exclude(actor_id=actor.id)


def _review(actor: Actor, at: datetime) -> Iterator[ChangeLine]:
    if actor.can("quarantine.read"):
        held = HeldFile.objects.filter(
            workspace_id=actor.workspace_id, state=HeldState.HELD, received_at__gte=at
        )
        url = reverse("quarantine:inbox")
        yield from _lines(held, "text newly held", "texts newly held", url)
        yield from _lines(
            _decisions(actor, at, HELD_DECIDED),
            "decision by others on held texts", "decisions by others on held texts",
            url,
        )  # fmt: skip
    if actor.can("proposals.read"):
        # A run that found no rule is of the same type, and names no proposal.
        decisions = _decisions(actor, at, PROPOSALS_DECIDED).filter(
            refs_text__contains='"proposal_id":'
        )
        yield from _lines(
            decisions,
            "decision by others on proposals", "decisions by others on proposals",
            address("proposals:list", state="all"),
        )  # fmt: skip


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
    issued = Certificate.objects.filter(
        workspace_id=actor.workspace_id, issued_at__gte=at
    )
    certificates_url = reverse("privacy:certificates")
    yield from _lines(
        issued, "certificate issued", "certificates issued", certificates_url
    )


def _machine(actor: Actor, at: datetime) -> Iterator[ChangeLine]:
    if actor.can("jobs.read"):
        url = reverse("jobs:board")
        failed = job_status.failed_since(actor, at)
        yield from _lines(failed, "run of a job failed", "runs of jobs failed", url)

"""What changed in a workspace since a person's visit before, as counts with links."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext, ngettext, pgettext_lazy

from crewship_memory.templatetags.ui import number as shown
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
# A day without its year, in the letters of Django's date filter.
DAY: Final = pgettext_lazy("day of a year", "j M")
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
    rows: QuerySet[Any], words: Callable[[int], str], url: str
) -> Iterator[ChangeLine]:
    """Return a line for the rows, none without any; it reads at most the limit.

    ``words`` makes the text for a number, with ``{count}`` in it.
    """
    number = rows.order_by()[: COUNT_LIMIT + 1].count()
    count = shown(min(number, COUNT_LIMIT))
    if number > COUNT_LIMIT:
        count = gettext("{count} and more").format(count=count)
    if number:
        yield ChangeLine(words(number).format(count=count), url)


def _memory(actor: Actor, at: datetime) -> Iterator[ChangeLine]:
    if actor.can("journal.read"):
        rows = queries.visible_entries(actor).filter(
            ts__gte=at, actor_type=ActorType.AGENT.value
        )
        yield from _lines(
            rows,
            lambda n: ngettext(
                "{count} new entry by agents", "{count} new entries by agents", n
            ),
            address("memory:journal", since=at.strftime("%Y-%m-%dT%H:%M")),
        )  # fmt: skip
    if actor.can("proposals.read"):
        proposals = ConsolidationProposal.objects.filter(
            workspace_id=actor.workspace_id,
            state=ProposalState.PENDING,
            created_at__gte=at,
        )
        url = reverse("proposals:list")
        yield from _lines(
            proposals,
            lambda n: ngettext("{count} new proposal", "{count} new proposals", n),
            url,
        )
    yield from _score(actor, at)


def _score(actor: Actor, at: datetime) -> Iterator[ChangeLine]:
    """Return the newest score, when it was measured since and differs from before."""
    if not actor.can("health.read"):
        return
    before, now = snapshots.around(actor, at)
    if before is None or now is None or f"{before.score:.1f}" == f"{now.score:.1f}":
        return
    text = gettext("health {score}, it was {before} on {day}").format(
        score=shown(now.score),
        before=shown(before.score),
        day=date_format(before.date, str(DAY)),
    )
    yield ChangeLine(text, reverse("health:page"))


def _agents(actor: Actor, at: datetime) -> Iterator[ChangeLine]:
    if actor.can("agents.read"):
        url = address("workspace:agents", show=facts.SILENT.name)
        yield from _lines(
            facts.fallen_silent(actor, at),
            lambda n: ngettext(
                "{count} agent fell silent", "{count} agents fell silent", n
            ),
            url,
        )


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
        yield from _lines(
            held,
            lambda n: ngettext(
                "{count} text newly held", "{count} texts newly held", n
            ),
            url,
        )
        yield from _lines(
            _decisions(actor, at, HELD_DECIDED),
            lambda n: ngettext(
                "{count} decision by others on held texts",
                "{count} decisions by others on held texts",
                n,
            ),
            url,
        )
    if actor.can("proposals.read"):
        # A run that found no rule is of the same type, and names no proposal.
        decisions = _decisions(actor, at, PROPOSALS_DECIDED).filter(
            refs_text__contains='"proposal_id":'
        )
        yield from _lines(
            decisions,
            lambda n: ngettext(
                "{count} decision by others on proposals",
                "{count} decisions by others on proposals",
                n,
            ),
            address("proposals:list", state="all"),
        )


def _cases(actor: Actor, at: datetime) -> Iterator[ChangeLine]:
    if not actor.can("gdpr.read"):
        return
    rows, url = (
        Case.objects.filter(workspace_id=actor.workspace_id),
        reverse("privacy:cases"),
    )
    opened, closed = rows.filter(opened_at__gte=at), rows.filter(closed_at__gte=at)
    yield from _lines(
        opened,
        lambda n: ngettext("{count} case opened", "{count} cases opened", n),
        url,
    )
    closed_url = address("privacy:cases", state="closed")
    yield from _lines(
        closed,
        lambda n: ngettext("{count} case closed", "{count} cases closed", n),
        closed_url,
    )
    issued = Certificate.objects.filter(
        workspace_id=actor.workspace_id, issued_at__gte=at
    )
    certificates_url = reverse("privacy:certificates")
    yield from _lines(
        issued,
        lambda n: ngettext(
            "{count} certificate issued", "{count} certificates issued", n
        ),
        certificates_url,
    )


def _machine(actor: Actor, at: datetime) -> Iterator[ChangeLine]:
    if actor.can("jobs.read"):
        url = reverse("jobs:board")
        failed = job_status.failed_since(actor, at)
        yield from _lines(
            failed,
            lambda n: ngettext(
                "{count} run of a job failed", "{count} runs of jobs failed", n
            ),
            url,
        )

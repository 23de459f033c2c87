"""What waits for a person by role, the worst first, as lines that open what is to do.

Every source is one small query on an index. A line without ``act`` is a finding that
the reader may see and others mend.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Final

from django.urls import reverse

from crewship_memory.machine import Machine
from episodic.consolidation import proposals
from episodic.health import overview as recall_overview
from episodic.web.health_page import CrewLine
from gdpr.cases import legal_holds
from gdpr.cases import overview as case_overview
from memory import overview, webhooks
from memory.jobs.status import JobsOverview
from memory.models import HeldState, ProviderPulse
from memory.review import detail as review_detail
from memory.review import queue as review_queue
from memory.rules.permissions import Actor
from memory.web.pages import address

HEADLINE_LINES: Final = 4


class Rank(IntEnum):
    """How bad it is that a line waits; the list is sorted by it."""

    OVERDUE = 0
    BROKEN = 1
    TODAY = 2
    HIGH = 3
    MEDIUM = 4
    LOW = 5


BADGES: Final = {
    Rank.OVERDUE: ("red", "overdue"),
    Rank.BROKEN: ("red", "broken"),
    Rank.TODAY: ("yellow", "due today"),
    Rank.HIGH: ("red", "high"),
    Rank.MEDIUM: ("yellow", "soon"),
    Rank.LOW: ("", "waits"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkLine:
    """One thing that waits. ``phrase`` is its part of the headline."""

    rank: Rank
    phrase: str
    note: str
    url: str
    act: str = ""
    since: datetime | None = None
    due: datetime | None = None

    @property
    def title(self) -> str:
        """The phrase as a sentence begins."""
        return self.phrase[:1].upper() + self.phrase[1:]

    @property
    def colour(self) -> str:
        return BADGES[self.rank][0]

    @property
    def word(self) -> str:
        return BADGES[self.rank][1]


@dataclass(frozen=True, slots=True)
class WorkList:
    """The lines of a person, the worst first; their own before what others mend."""

    lines: tuple[WorkLine, ...]

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits for the reader; others may have something to mend."""
        return not any(line.act for line in self.lines)

    @property
    def headline(self) -> str:
        """What waits for the reader, in one sentence."""
        phrases = [line.phrase for line in self.lines if line.act]
        if not phrases:
            return "Nothing waits for you"
        rest = len(phrases) - HEADLINE_LINES
        text = ", ".join(phrases[:HEADLINE_LINES])
        text += f" and {rest} more below" if rest > 0 else ""
        return text[:1].upper() + text[1:]


def build(actor: Actor, machine: Machine, health: Sequence[CrewLine] = ()) -> WorkList:
    """Return what waits for the actor, the worst first."""
    lines = [
        *_cases(actor),
        *_plans(actor),
        *_holds(actor),
        *_held(actor),
        *_proposals(actor),
        *_recall(actor, machine.recall),
        *_jobs(machine.jobs),
        *_connections(actor, machine.pulse),
        *_health(actor, health),
        *_keys(actor),
    ]
    return WorkList(tuple(sorted(lines, key=lambda line: (not line.act, line.rank))))


def _count(number: int, singular: str, plural: str, limit: int | None = None) -> str:
    """Return a count in words; from ``limit`` on, where counting ends, "at least"."""
    text = f"{number:,} {singular if number == 1 else plural}"
    return f"at least {text}" if limit and number >= limit else text


# ── Personal data ────────────────────────────────────────────────────────────
def _cases(actor: Actor) -> Iterator[WorkLine]:
    """Return a line each for overdue cases, those due today, and within a week."""
    counts = case_overview.case_counts(actor)
    if counts is None:
        return
    spans = (
        ("overdue", Rank.OVERDUE, counts.late, "is overdue", "are overdue"),
        ("today", Rank.TODAY, counts.today, "is due today", "are due today"),
        ("soon", Rank.MEDIUM, counts.soon - counts.today,
         "is due within a week", "are due within a week"),
    )  # fmt: skip
    for due, rank, number, singular, plural in spans:
        if not number:
            continue
        # The list of "soon" begins with the cases that are due today.
        offset = counts.today if due == "soon" else 0
        rows = case_overview.urgent(actor, limit=offset + 1, due=due)[offset:]
        if not rows:
            continue
        case, deadline = rows[0]
        yield WorkLine(
            rank=rank,
            phrase=_count(number, f"case {singular}", f"cases {plural}"),
            note=f"{case.get_kind_display()}, {case.get_state_display().lower()}:"
            f" {deadline.words}",
            url=reverse("privacy:case", args=(case.pk,))
            if number == 1
            else address("privacy:cases", due=due),
            act="Open the case" if number == 1 else "Open the cases",
            since=case.received_at,
            due=deadline.due_at,
        )


def _case_url(case_ids: tuple[str, ...]) -> str:
    if len(case_ids) == 1:
        return reverse("privacy:case", args=case_ids)
    return address("privacy:cases", state="planned")


def _plans(actor: Actor) -> Iterator[WorkLine]:
    """Return plans to approve, and doubtful rows to decide."""
    work = case_overview.plan_work(actor)
    if work.approvals:
        number = len(work.approvals)
        yield WorkLine(
            rank=Rank.HIGH,
            phrase=_count(number, "plan waits", "plans wait", case_overview.PLAN_LIMIT)
            + " for your approval",
            note="a second person approves what another planned",
            url=_case_url(work.approvals),
            act="Read the plan" if number == 1 else "Open the cases",
        )
    if work.doubtful:
        number = len(work.doubtful)
        yield WorkLine(
            rank=Rank.HIGH,
            phrase=_count(number, "case has", "cases have", case_overview.PLAN_LIMIT)
            + " doubtful rows",
            note="whose they are has to be decided before the plan is approved",
            url=_case_url(work.doubtful),
            act="Decide the rows" if number == 1 else "Open the cases",
        )


def _holds(actor: Actor) -> Iterator[WorkLine]:
    if not actor.can("gdpr.manage"):
        return
    _, past_review = legal_holds.counts(actor)
    if past_review:
        yield WorkLine(
            rank=Rank.MEDIUM,
            phrase=_count(
                past_review,
                "legal hold is past its review",
                "legal holds are past their review",
            ),
            note="a hold keeps data that would be erased",
            url=reverse("privacy:holds"),
            act="Review holds",
        )


# ── Review ───────────────────────────────────────────────────────────────────
def _held(actor: Actor) -> Iterator[WorkLine]:
    """Return the held texts as one line that opens the one with the highest risk."""
    number = review_queue.open_case_count(actor)
    if not number:
        return
    filters = review_queue.HeldFilter(state=HeldState.HELD.value)
    items = review_queue.page(actor, filters, limit=1).items
    if not items:
        return
    first = review_detail.line(items[0])
    yield WorkLine(
        rank={"red": Rank.HIGH, "yellow": Rank.MEDIUM}.get(first.badge, Rank.LOW),
        phrase=_count(number, "text is held", "texts are held"),
        note=f"{first.title}: risk {first.held.risk:.2f}",
        url=reverse("quarantine:case", args=(first.held.pk,)),
        act="Decide" if number == 1 else "Decide the riskiest",
        since=first.held.received_at,
    )


def _proposals(actor: Actor) -> Iterator[WorkLine]:
    number = proposals.pending_count(actor)
    if not number:
        return
    newest = proposals.page(actor, "pending", limit=1).items
    if not newest:
        return
    yield WorkLine(
        rank=Rank.LOW,
        phrase=_count(number, "proposal waits", "proposals wait"),
        note="a rule that agents would read is approved or rejected by an operator",
        url=reverse("proposals:detail", args=(newest[0].pk,)),
        act="Decide" if actor.can("proposals.decide") else "",
        since=newest[0].created_at if number == 1 else None,
    )


# ── The machine ──────────────────────────────────────────────────────────────
def _recall(actor: Actor, card: recall_overview.Card) -> Iterator[WorkLine]:
    """Return an embedder that does not answer, and entries that were given up."""
    may_run = actor.can("index.run")
    if card.embedder.colour == "red":
        yield WorkLine(
            rank=Rank.BROKEN,
            phrase="the embedder does not answer",
            note=f"recall is by words alone; {card.embedder.note}",
            url=reverse("episodic:index"),
            act="Open the index" if may_run else "",
            since=card.embedder.checked_at,
        )
    if card.status.failed:
        yield WorkLine(
            rank=Rank.BROKEN,
            phrase=_count(card.status.failed, "entry has", "entries have")
            + " no vector after every try",
            note="what has no vector cannot be recalled by meaning",
            url=reverse("episodic:index"),
            act="Index again" if may_run else "",
        )


def _jobs(jobs: JobsOverview | None) -> Iterator[WorkLine]:
    lines = [*jobs.stuck, *jobs.failed] if jobs else []
    names = list(dict.fromkeys(line.job.name for line in lines))
    if not names or jobs is None:
        return
    yield WorkLine(
        rank=Rank.BROKEN,
        phrase=_count(len(names), "job is", "jobs are") + " stuck or failed",
        note=", ".join(dict.fromkeys(line.job.title for line in lines)),
        url=reverse("jobs:history", args=names) if len(names) == 1
        else reverse("jobs:board"),
        act="Open the job" if len(names) == 1 else "Open the jobs",
        since=lines[0].last.run.started_at if lines[0].last else None,
    )  # fmt: skip


def _connections(actor: Actor, pulse: ProviderPulse | None) -> Iterator[WorkLine]:
    """Return a provider that did not answer, and deliveries that were given up."""
    if pulse is not None and not pulse.ok:
        yield WorkLine(
            rank=Rank.BROKEN,
            phrase=f"the provider {pulse.provider} did not answer",
            note=pulse.message,
            url=reverse("providers"),
            act="Open providers" if actor.can("providers.manage") else "",
            since=pulse.checked_at,
        )
    failed = webhooks.failed_count(actor)
    if failed:
        yield WorkLine(
            rank=Rank.HIGH,
            phrase=_count(
                failed,
                "message to a webhook was",
                "messages to webhooks were",
                webhooks.FAILED_COUNTED,
            )
            + " given up",
            note="a message that was given up is sent again on request only",
            url=reverse("workspace:webhooks"),
            act="Open webhooks",
        )


def _health(actor: Actor, crews: Sequence[CrewLine]) -> Iterator[WorkLine]:
    """Return the crews in red as one line that opens the one that lost the most."""
    red = [crew for crew in crews if crew.crew_id and crew.judgement.colour == "red"]
    if not red:
        return
    worst = min(red, key=lambda crew: crew.judgement.value or 0.0)
    cause = f": {worst.cause.title}" if worst.cause else ""
    yield WorkLine(
        rank=Rank.HIGH,
        phrase=f"the health of {worst.slug} is red" if len(red) == 1
        else f"{len(red):,} crews are red",
        note=f"{worst.slug} at {worst.judgement.value or 0.0:.1f}{cause}",
        url=address("health:page", crew_id=worst.crew_id),
        act="See what helps" if actor.can("health.recompute") else "",
    )  # fmt: skip


def _keys(actor: Actor) -> Iterator[WorkLine]:
    keys = overview.expiring_keys(actor)
    if keys.count:
        yield WorkLine(
            rank=Rank.MEDIUM,
            phrase=_count(keys.count, "key ends", "keys end") + " within 14 days",
            note="what used a key that has ended can neither write nor recall",
            url=reverse("workspace:keys"),
            act="Open keys",
            due=keys.first,
        )

"""What waits for a person by role, the worst first, as lines that open what is to do.

Every source is one small query on an index. A line without ``act`` is a finding that
the reader may see and others mend.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from django.urls import reverse

from crewship_memory import work_agents, work_machine
from crewship_memory.machine import Machine
from crewship_memory.work_line import Rank, WorkLine, count_phrase
from episodic.consolidation import proposals
from episodic.web.health_page import CrewLine
from gdpr.cases import legal_holds
from gdpr.cases import overview as case_overview
from memory.models import HeldState
from memory.review import detail as review_detail
from memory.review import queue as review_queue
from memory.rules.permissions import Actor
from memory.web.pages import address

HEADLINE_LINES: Final = 4


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
        *work_machine.lines(actor, machine, health),
        *work_agents.lines(actor),
    ]
    return WorkList(tuple(sorted(lines, key=lambda line: (not line.act, line.rank))))


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
            phrase=count_phrase(number, f"case {singular}", f"cases {plural}"),
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
            phrase=count_phrase(
                number, "plan waits", "plans wait", case_overview.PLAN_LIMIT
            )
            + " for your approval",
            note="a second person approves what another planned",
            url=_case_url(work.approvals),
            act="Read the plan" if number == 1 else "Open the cases",
        )
    if work.doubtful:
        number = len(work.doubtful)
        yield WorkLine(
            rank=Rank.HIGH,
            phrase=count_phrase(
                number, "case has", "cases have", case_overview.PLAN_LIMIT
            )
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
            phrase=count_phrase(
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
        phrase=count_phrase(number, "text is held", "texts are held"),
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
        phrase=count_phrase(number, "proposal waits", "proposals wait"),
        note="a rule that agents would read is approved or rejected by an operator",
        url=reverse("proposals:detail", args=(newest[0].pk,)),
        act="Decide" if actor.can("proposals.decide") else "",
        since=newest[0].created_at if number == 1 else None,
    )

"""What waits for a person by role, the worst first, as lines that open what is to do.

Every source is one small query on an index. A line without ``act`` is a finding that
the reader may see and others mend.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from django.urls import reverse
from django.utils.translation import gettext, ngettext, pgettext

from crewship_memory import work_agents, work_machine
from crewship_memory.machine import Machine
from crewship_memory.templatetags.ui import number as shown
from crewship_memory.work_line import Rank, WorkLine, count_phrase
from episodic.consolidation import proposals
from episodic.web.health_page import CrewLine
from gdpr.cases import legal_holds
from gdpr.cases import overview as case_overview
from gdpr.export import review as export_review
from memory import figures
from memory.models import HeldState
from memory.review import detail as review_detail
from memory.review import queue as review_queue
from memory.rules.permissions import Actor
from memory.rules.translation import within_sentence
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
            return gettext("Nothing waits for you")
        rest = len(phrases) - HEADLINE_LINES
        text = ", ".join(phrases[:HEADLINE_LINES])
        if rest > 0:
            more = gettext("{phrases} and {count} more below")
            text = more.format(phrases=text, count=shown(rest))
        return text[:1].upper() + text[1:]


def build(actor: Actor, machine: Machine, health: Sequence[CrewLine] = ()) -> WorkList:
    """Return what waits for the actor, the worst first."""
    lines = [
        *_cases(actor),
        *_plans(actor),
        *_holds(actor),
        *_bundles(actor),
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
        ("overdue", Rank.OVERDUE, counts.late),
        ("today", Rank.TODAY, counts.today),
        ("soon", Rank.MEDIUM, counts.soon - counts.today),
    )
    for due, rank, number in spans:
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
            phrase=_due_phrase(due, number),
            note=gettext("{kind}, {state}: {deadline}").format(
                kind=case.get_kind_display(),
                state=within_sentence(case.get_state_display()),
                deadline=deadline.words,
            ),
            url=reverse("privacy:case", args=(case.pk,))
            if number == 1
            else address("privacy:cases", due=due),
            act=pgettext("look at it", "Open the case")
            if number == 1
            else gettext("Open the cases"),
            since=case.received_at,
            due=deadline.due_at,
        )


def _due_phrase(due: str, number: int) -> str:
    if due == "overdue":
        text = ngettext("{count} case is overdue", "{count} cases are overdue", number)
    elif due == "today":
        text = ngettext(
            "{count} case is due today", "{count} cases are due today", number
        )
    else:
        text = ngettext(
            "{count} case is due within a week",
            "{count} cases are due within a week",
            number,
        )
    return count_phrase(text, number)


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
                ngettext(
                    "{count} plan waits for your approval",
                    "{count} plans wait for your approval",
                    number,
                ),
                number,
                case_overview.PLAN_LIMIT,
            ),
            note=gettext("a second person approves what another planned"),
            url=_case_url(work.approvals),
            act=gettext("Read the plan") if number == 1 else gettext("Open the cases"),
        )
    if work.doubtful:
        number = len(work.doubtful)
        doubtful = ngettext(
            "{count} case has doubtful rows", "{count} cases have doubtful rows", number
        )
        yield WorkLine(
            rank=Rank.HIGH,
            phrase=count_phrase(doubtful, number, case_overview.PLAN_LIMIT),
            note=gettext(
                "whose they are has to be decided before the plan is approved"
            ),
            url=_case_url(work.doubtful),
            act=gettext("Decide the rows")
            if number == 1
            else gettext("Open the cases"),
        )


def _holds(actor: Actor) -> Iterator[WorkLine]:
    if not actor.can("gdpr.manage"):
        return
    _, past_review = legal_holds.counts(actor)
    if past_review:
        yield WorkLine(
            rank=Rank.MEDIUM,
            phrase=count_phrase(
                ngettext(
                    "{count} legal hold is past its review",
                    "{count} legal holds are past their review",
                    past_review,
                ),
                past_review,
            ),
            note=gettext("a hold keeps data that would be erased"),
            url=reverse("privacy:holds"),
            act=gettext("Review holds"),
        )


def _bundles(actor: Actor) -> Iterator[WorkLine]:
    """Return bundles that wait for a decision on words of other people."""
    if not actor.can("gdpr.manage"):
        return
    export_ids = export_review.bundles_waiting(actor)
    if export_ids:
        number = len(export_ids)
        yield WorkLine(
            rank=Rank.HIGH,
            phrase=count_phrase(
                ngettext(
                    "{count} bundle waits for your decision",
                    "{count} bundles wait for your decision",
                    number,
                ),
                number,
            ),
            note=gettext("it may show other people’s names"),
            url=reverse("privacy:words", args=export_ids)
            if number == 1
            else reverse("privacy:exports"),
            act=gettext("Decide on words of other people")
            if number == 1
            else gettext("Open the exports"),
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
        phrase=count_phrase(
            ngettext("{count} text is held", "{count} texts are held", number), number
        ),
        note=gettext("{title}: risk {risk}").format(
            title=first.title, risk=figures.decimal(first.held.risk)
        ),
        url=reverse("quarantine:case", args=(first.held.pk,)),
        act=gettext("Decide") if number == 1 else gettext("Decide the riskiest"),
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
        phrase=count_phrase(
            ngettext("{count} proposal waits", "{count} proposals wait", number), number
        ),
        note=gettext(
            "a rule that agents would read is approved or rejected by an operator"
        ),
        url=reverse("proposals:detail", args=(newest[0].pk,)),
        act=gettext("Decide") if actor.can("proposals.decide") else "",
        since=newest[0].created_at if number == 1 else None,
    )

"""Recipients as pages show them: state, what they received, what can be done."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.utils import timezone
from django.utils.translation import gettext

from gdpr.cases.queries import CaseDetail
from gdpr.models import (
    SENT_NOTICES,
    CaseState,
    NoNoticeGround,
    NoticeState,
    NoticeWay,
    Recipient,
    RecipientAnswer,
)
from gdpr.pagination import PageQuery
from gdpr.recipients import contacts, listing, queries, sending, sentences, ways
from gdpr.recipients.evidence import Disclosure
from gdpr.recipients.queries import NoticeCounts
from memory import http_out
from memory.rules.permissions import Actor
from memory.rules.stored_sentences import translated

SHOWN_IN_CASE: Final = 5
BANDS: Final = {
    NoticeState.TO_NOTIFY: "yellow",
    NoticeState.QUEUED: "idle",
    NoticeState.NOTIFIED: "idle",
    NoticeState.DELIVERED: "idle",
    NoticeState.ANSWERED: "green",
    NoticeState.FAILED: "red",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One recipient; ``answer_due`` is None where no answer is awaited."""

    row: Recipient
    answer_due: datetime | None
    open_ways: list[NoticeWay] = field(default_factory=list)

    @property
    def colour(self) -> str:
        if self.row.answer == RecipientAnswer.REFUSED:
            return "yellow"
        return BANDS.get(NoticeState(self.row.state), "")

    @property
    def receives(self) -> str:
        return sentences.receives(self.row)

    @property
    def doubt(self) -> str:
        return sentences.doubt_words(self.row.doubt)

    @property
    def fault(self) -> str:
        """Why the notice is not out, in the reader's language."""
        faults = (*sending.FAULTS, *http_out.FAULTS)
        return translated(self.row.last_error, faults)

    @property
    def is_overdue(self) -> bool:
        return self.answer_due is not None and self.answer_due < timezone.now()

    @property
    def is_complete(self) -> bool:
        """Whether the run is over, so that a notice may go out."""
        return self.row.case.state == CaseState.COMPLETE

    @property
    def may_notify(self) -> bool:
        return self.is_complete and self.row.state in (
            NoticeState.TO_NOTIFY,
            NoticeState.FAILED,
            NoticeState.NOT_POSSIBLE,
        )

    @property
    def may_note_by_hand(self) -> bool:
        states = (NoticeState.WAITING, NoticeState.QUEUED)
        is_due = self.is_complete and self.row.state in states
        return self.may_notify or is_due

    @property
    def may_decline(self) -> bool:
        return self.row.state in (
            NoticeState.WAITING,
            NoticeState.TO_NOTIFY,
            NoticeState.FAILED,
        )

    @property
    def may_answer(self) -> bool:
        return self.row.state in (*SENT_NOTICES, NoticeState.ANSWERED)

    @property
    def has_letter(self) -> bool:
        return self.row.case.kind in listing.NOTIFIED_CASES


@dataclass(frozen=True, slots=True)
class CasePanel:
    """The recipients on the page of a case; ``expected`` is before a run."""

    counts: NoticeCounts
    lines: list[Line]
    expected: list[Disclosure]

    @property
    def is_shown(self) -> bool:
        return bool(self.lines or self.expected)


def lines_of(rows: list[Recipient], *, with_ways: bool = False) -> list[Line]:
    """Return rows of one workspace as lines; with the ways that are open now."""
    if not rows:
        return []
    days = contacts.answer_days(rows[0].workspace_id)
    return [
        Line(
            row,
            queries.answer_due(row, days),
            ways.open_ways(row) if with_ways and row.state in _OFFERED else [],
        )
        for row in rows
    ]


_OFFERED: Final = (
    NoticeState.TO_NOTIFY, NoticeState.FAILED, NoticeState.NOT_POSSIBLE,
)  # fmt: skip


def panel(actor: Actor, detail: CaseDetail) -> CasePanel:
    """Return what the page of a case shows of its recipients."""
    case = detail.case
    page = queries.page(actor, case, PageQuery(limit=SHOWN_IN_CASE))
    expected = listing.expected(case, detail.plan)
    counts = queries.case_counts(actor, case)
    return CasePanel(counts, lines_of(page.items), expected)


def choices() -> dict[str, Any]:
    """Return what the forms of a recipient offer."""
    return {
        "grounds": NoNoticeGround.choices,
        "answers": RecipientAnswer.choices,
    }


def way_words(way: str) -> str:
    """Return what a button that sends a notice by a way says."""
    words = {
        NoticeWay.WEBHOOK: gettext("Send the event"),
        NoticeWay.FORGET: gettext("Ask it to forget"),
        NoticeWay.MAIL: gettext("Send the e-mail"),
    }
    return words[NoticeWay(way)]

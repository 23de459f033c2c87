"""The report of a month, counted from the stored facts of cases.

What counts when (in the workspace's calendar):

- *received*: the day of receipt lies in the month;
- *answered*: the case was closed in it, complete or refused. A partial case is open;
- *days*: calendar days from receipt to the answer. The median of an even number is the
  mean of the two in the middle; the 90th percentile is the smallest number of days that
  at least 90 of 100 answers needed at most (nearest rank);
- *in time*: answered by the end of the due day, the extended one where there is one;
- *overdue*: answered in the month after that day, or still open at the end of the month
  with that day over. A deadline is extended only before it runs out, so this is the
  same whenever it is counted;
- *why*: where the case stood when its deadline ran out, by its timeline;
- *open at the end*: received by then and not closed by then.

A month in course ends now. A request that is entered later with an earlier day of
receipt is counted in the month in which it was received.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil
from statistics import median
from typing import Any, Final

from django.db.models.fields.json import KT
from django.utils import timezone
from django.utils.translation import gettext_noop

from gdpr.cases import privacy_settings, queries
from gdpr.cases.privacy_settings import PrivacySettings
from gdpr.models import Case, CaseEvent, CaseKind, CasePlan, CaseState
from gdpr.reports import masking, periods, register
from gdpr.reports.periods import Month, Period
from memory.rules.permissions import Actor

# Where an overdue case stood when its deadline ran out.
WHY: Final = {
    "entered_late": gettext_noop("It was entered after its deadline"),
    "identity": gettext_noop("No identity noted, and no plan made"),
    "plan": gettext_noop("Identity verified, no plan made"),
    "decisions": gettext_noop("The plan had rows to decide on"),
    "approval": gettext_noop("The plan was not approved or carried out"),
    "start": gettext_noop("The plan was approved and not carried out"),
    "running": gettext_noop("It was being carried out"),
    "partial": gettext_noop("It was carried out in part"),
    "hold": gettext_noop("A legal hold stopped it"),
}
_OF_STATE: Final = {
    CaseState.RECEIVED: "identity",
    CaseState.IDENTIFIED: "plan",
    CaseState.PLANNED: "approval",
    CaseState.APPROVED: "start",
    CaseState.RUNNING: "running",
    CaseState.VERIFYING: "running",
    CaseState.PARTIAL: "partial",
    CaseState.ON_HOLD: "hold",
}


@dataclass(frozen=True, slots=True)
class Late:
    """An overdue case: why, as a key of ``WHY``, and whether it had been extended."""

    case_id: str
    kind: str
    why: str
    extended: bool
    open: bool


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused request and its ground, without registered names."""

    case_id: str
    kind: str
    ground: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The numbers of one month; ``received`` and the like are kind → cases."""

    month: str
    received: dict[str, int]
    answered: dict[str, int]
    open_at_end: dict[str, int]
    complete: int
    refused: int
    in_time: int
    extended: int
    median_days: float | None
    p90_days: int | None
    longest_days: int | None
    overdue: list[Late] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)

    @property
    def total_received(self) -> int:
        return sum(self.received.values())

    @property
    def total_answered(self) -> int:
        return sum(self.answered.values())

    @property
    def total_open(self) -> int:
        return sum(self.open_at_end.values())

    @property
    def answered_late(self) -> int:
        return self.total_answered - self.in_time

    @property
    def open_overdue(self) -> int:
        return sum(late.open for late in self.overdue)

    @property
    def why(self) -> dict[str, int]:
        """Why → overdue cases, in the order of ``WHY``."""
        counts = Counter(late.why for late in self.overdue)
        return {name: counts[name] for name in WHY if counts[name]}


@dataclass(frozen=True, slots=True)
class Report:
    """A month beside the one before it; ``in_course``: it is not over yet."""

    month: Month
    time_zone: str
    in_course: bool
    figures: Figures
    previous: Figures


def of(actor: Actor, text: str = "", *, now: datetime | None = None) -> Report:
    """Return the report of a month like 2026-11, of the present one by default."""
    actor.require("gdpr.read")
    rules = privacy_settings.of(actor.workspace_id)
    zone, moment = privacy_settings.zone(rules), now or timezone.now()
    selected_month = periods.month(text, moment, zone)
    return Report(
        month=selected_month,
        time_zone=rules.time_zone,
        in_course=selected_month == periods.this_month(moment, zone),
        figures=_figures(actor, selected_month, rules, moment),
        previous=_figures(actor, selected_month.previous, rules, moment),
    )


# ── Counting ─────────────────────────────────────────────────────────────────
def _by_kind(cases: Iterable[Case]) -> dict[str, int]:
    counts = Counter(case.kind for case in cases)
    return {kind: counts[kind] for kind in CaseKind.values}


def nearest_rank(values: Sequence[int], percent: int) -> int:
    """Return the smallest value that ``percent`` of the values do not exceed."""
    return sorted(values)[ceil(len(values) * percent / 100) - 1]


def _figures(
    actor: Actor, month: Month, rules: PrivacySettings, now: datetime
) -> Figures:
    period = month.period(privacy_settings.zone(rules))
    end = min(period.end, now)
    cases = list(register.touched(actor.workspace_id, period))
    answered = [case for case in cases if _is_closed(case, period)]
    still_open = [
        case
        for case in cases
        if case.received_at <= end and (case.closed_at is None or case.closed_at >= end)
    ]
    days = [register.days_taken(case, rules) or 0 for case in answered]
    in_time = [case for case in answered if register.in_time(case, rules)]
    late_open = [case for case in still_open if queries.effective_deadline(case) < end]
    late = [case for case in answered if not register.in_time(case, rules)]
    return Figures(
        month=str(month),
        received=_by_kind(case for case in cases if case.received_at >= period.start),
        answered=_by_kind(answered),
        open_at_end=_by_kind(still_open),
        complete=sum(case.state == CaseState.COMPLETE for case in answered),
        refused=sum(case.state == CaseState.REFUSED for case in answered),
        in_time=len(in_time),
        extended=sum(case.extended_until is not None for case in answered),
        median_days=float(median(days)) if days else None,
        p90_days=nearest_rank(days, 90) if days else None,
        longest_days=max(days, default=None),
        overdue=_overdue(actor.workspace_id, late, late_open),
        refusals=_refusals(actor.workspace_id, answered),
    )


def _is_closed(case: Case, period: Period) -> bool:
    """Whether a case was closed within a period."""
    return case.closed_at is not None and period.start <= case.closed_at < period.end


def _refusals(workspace_id: str, answered: list[Case]) -> list[Refusal]:
    refusals = [case for case in answered if case.state == CaseState.REFUSED]
    masked = masking.words(workspace_id) if refusals else str
    return [
        Refusal(case.pk, case.kind, masked(case.refusal_reason)) for case in refusals
    ]


# ── Why a case is overdue ────────────────────────────────────────────────────
def _overdue(
    workspace_id: str, answered: list[Case], still_open: list[Case]
) -> list[Late]:
    cases = [*answered, *still_open]
    if not cases:
        return []
    states, undecided_rows = (
        _timelines(workspace_id, cases),
        _plans(workspace_id, cases),
    )
    late = []
    for case in cases:
        moment = queries.effective_deadline(case)
        state = _last(states[case.pk], moment)
        reason = _OF_STATE.get(CaseState(state), "running") if state else "entered_late"
        if reason == "approval" and _last(undecided_rows[case.pk], moment):
            reason = "decisions"
        is_open = case in still_open
        late.append(
            Late(case.pk, case.kind, reason, case.extended_until is not None, is_open)
        )
    return late


def _last(values: list[tuple[datetime, Any]], moment: datetime) -> Any:
    """Return the last value at a moment, None before the first."""
    return next((value for at, value in reversed(values) if at <= moment), None)


Timeline = dict[str, list[tuple[datetime, Any]]]


def _timelines(workspace_id: str, cases: list[Case]) -> Timeline:
    """Return case id → the states that its events noted, the oldest first."""
    rows = CaseEvent.objects.filter(workspace_id=workspace_id, case__in=cases)
    rows = rows.exclude(state="").order_by("at", "id")
    timelines: Timeline = defaultdict(list)
    for case_id, at, state in rows.values_list("case_id", "at", "state"):
        timelines[case_id].append((at, state))
    return timelines


def _plans(workspace_id: str, cases: list[Case]) -> Timeline:
    """Return case id → how many rows each plan left to decide, the oldest first."""
    rows = CasePlan.objects.filter(workspace_id=workspace_id, case__in=cases)
    rows = rows.order_by("number").annotate(undecided=KT("body__doubts__undecided"))
    plans: Timeline = defaultdict(list)
    for case_id, at, count in rows.values_list("case_id", "made_at", "undecided"):
        plans[case_id].append((at, int(count or 0)))
    return plans


# ── As rows ──────────────────────────────────────────────────────────────────
NUMBERS: Final = (
    "total_received", "total_answered", "complete", "refused", "in_time",
    "answered_late", "extended", "median_days", "p90_days", "longest_days",
    "total_open", "open_overdue",
)  # fmt: skip
COLUMNS: Final = ("figure", "of", "month", "previous_month")


def rows(report: Report) -> Iterable[tuple[str, str, Any, Any]]:
    """Yield the lines of the report as a table: figure, of what, both months."""
    now, before = report.figures, report.previous
    yield "month", "", now.month, before.month
    for name in NUMBERS:
        yield name, "", getattr(now, name), getattr(before, name)
    for name in ("received", "answered", "open_at_end"):
        for kind in CaseKind.values:
            yield name, kind, getattr(now, name)[kind], getattr(before, name)[kind]
    for name in WHY:
        yield "overdue", name, now.why.get(name, 0), before.why.get(name, 0)
    for refusal in now.refusals:
        yield "refusal_ground", refusal.case_id, refusal.ground, ""
    for refusal in before.refusals:
        yield "refusal_ground", refusal.case_id, "", refusal.ground

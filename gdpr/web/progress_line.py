"""The progress line of a case: its steps, and which of them is current."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from django.utils.formats import date_format
from django.utils.translation import gettext, pgettext

from gdpr.cases import identity
from gdpr.cases.queries import CaseDetail
from gdpr.models import Case, CaseKind, CaseState

ORDER: Final = ("received", "identity", "plan", "approve", "run", "verify", "end")
# State → current step; approval and identity are decided by ``todo``.
STEP_OF_STATE: Final = {
    "received": "plan",
    "identified": "plan",
    "planned": "run",
    "approved": "run",
    "running": "run",
    "verifying": "verify",
    "partial": "plan",
    "complete": "end",
    "refused": "end",
}
VERIFIED_KINDS: Final = (CaseKind.ERASURE, CaseKind.RECTIFICATION)
UNDER_WAY: Final = (CaseState.RUNNING, CaseState.VERIFYING)


@dataclass(frozen=True, slots=True)
class ProgressStep:
    """A step of the progress line; ``mark`` is done, now, back or empty."""

    title: str
    note: str
    mark: str


def _titles(case: Case) -> dict[str, str]:
    return {
        "received": pgettext("case", "Received"),
        "identity": gettext("Identity"),
        "plan": pgettext("case", "Planned"),
        "approve": pgettext("case", "Approved"),
        "run": gettext("Run {number}").format(number=case.run)
        if case.run > 1
        else pgettext("noun", "Run"),
        "verify": gettext("Verified"),
        "end": str(CaseState.REFUSED.label)
        if case.state == CaseState.REFUSED
        else pgettext("case", "Complete"),
    }


def _day(moment: datetime) -> str:
    """Return a day without its year, in UTC."""
    return date_format(moment.astimezone(UTC), gettext("j M"))


def todo(detail: CaseDetail) -> str:
    """Return what a person has to do now, as the name of its panel."""
    case = detail.case
    if case.state in UNDER_WAY:
        return "running"
    if case.state in ("on_hold", "complete", "refused"):
        return case.state
    if _asks_for_identity(detail):
        return "identity"
    if case.state in ("planned", "approved"):
        return "approve" if detail.approval_missing else "execute"
    return "plan"


def _asks_for_identity(detail: CaseDetail) -> bool:
    """Whether the identity comes first; without a second person the run asks for it."""
    case = detail.case
    if identity.is_settled(case):
        return False
    is_planned = case.state in (CaseState.PLANNED, CaseState.APPROVED)
    before_approval = (
        case.kind == CaseKind.ERASURE and detail.rules.two_person and is_planned
    )
    return detail.rules.require_identity or before_approval


def _days_by_verb(detail: CaseDetail) -> dict[str, str]:
    """Return verb → the day on which it was last done."""
    days: dict[str, str] = {}
    for event in detail.events:
        verb = str(event.data.get("verb", ""))
        days.setdefault(verb, _day(event.at))
    return days


def _identity_note(case: Case, days: dict[str, str]) -> str:
    if case.identity_skipped_ground:
        return gettext("left out, {day}").format(day=days.get("skip_identity", ""))
    return days.get("identify", gettext("asked for here"))


def _notes(detail: CaseDetail) -> dict[str, str]:
    case, days = detail.case, _days_by_verb(detail)
    planned = days.get("plan", gettext("a dry run"))
    if "plan" in days and detail.plan:
        planned = gettext("{day}, plan {number}").format(
            day=days["plan"], number=detail.plan.number
        )
    return {
        "received": _day(case.received_at),
        "identity": _identity_note(case, days),
        "plan": planned,
        "approve": days.get("approve", gettext("by a second person")),
        "run": days.get("execute", gettext("in the background")),
        "verify": days.get("verify", gettext("a search of every place")),
        "end": _day(case.closed_at) if case.closed_at else "",
    }


def _steps(detail: CaseDetail) -> list[str]:
    """Return the steps of this case, without those that its settings skip."""
    case = detail.case
    omitted = set()
    if case.kind not in VERIFIED_KINDS:
        omitted.add("verify")
    if not detail.rules.two_person and not case.approved_at:
        omitted.add("approve")
    if not _asks_for_identity(detail) and not identity.is_settled(case):
        omitted.add("identity")
    if case.state == CaseState.REFUSED:
        # A step that was never reached is not shown as done.
        days = _days_by_verb(detail)
        verbs = {"plan": "plan", "run": "execute", "verify": "verify"}
        omitted |= {key for key, verb in verbs.items() if verb not in days}
    return [key for key in ORDER if key not in omitted]


def steps_of(detail: CaseDetail) -> list[ProgressStep]:
    case, keys, notes = detail.case, _steps(detail), _notes(detail)
    current, titles = todo(detail), _titles(case)
    if current not in ("identity", "approve"):
        current = STEP_OF_STATE.get(case.held_from or case.state, "plan")
    position_now = keys.index(current) if current in keys else 0
    steps = []
    for position, key in enumerate(keys):
        note = notes[key]
        mark = (
            "done"
            if position < position_now or case.state == CaseState.COMPLETE
            else ""
        )
        if key == "identity" and case.identity_at is None:
            mark = "back" if case.identity_skipped_ground else ""
        if position == position_now and case.state != CaseState.COMPLETE:
            mark, note = _current(case, note)
        if case.state == CaseState.PARTIAL and key in ("run", "verify"):
            mark = "done" if key == "run" else "back"
            note = note if key == "run" else gettext("something is left")
        steps.append(ProgressStep(titles[key], note, mark))
    return steps


def _current(case: Case, note: str) -> tuple[str, str]:
    if case.state == CaseState.ON_HOLD:
        return "back", gettext("on hold")
    if case.state == CaseState.REFUSED:
        return "back", note
    if case.state in UNDER_WAY:
        return "now", gettext("under way")
    if case.state == CaseState.PARTIAL:
        return "now", gettext("plan the rest")
    return "now", gettext("waits for you")

"""The progress line of a case: which steps it has, and at which of them it waits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gdpr.cases.queries import Dossier
from gdpr.models import Case, CaseKind, CaseState

ORDER: Final = ("received", "identity", "plan", "approve", "run", "verify", "end")
TITLES: Final = {
    "received": "Received",
    "identity": "Identity",
    "plan": "Planned",
    "approve": "Approved",
    "run": "Run",
    "verify": "Verified",
    "end": "Complete",
}
# Where a case in a state waits; approval and identity are asked for below.
AT: Final = {
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
PROVED: Final = (CaseKind.ERASURE, CaseKind.RECTIFICATION)
UNDER_WAY: Final = (CaseState.RUNNING, CaseState.VERIFYING)


@dataclass(frozen=True, slots=True)
class Node:
    """One node of the progress line; ``mark`` is done, now, back or nothing."""

    title: str
    note: str
    mark: str


def todo(told: Dossier) -> str:
    """Return what is asked of people now, by the name of its panel."""
    case = told.case
    if case.state in UNDER_WAY:
        return "running"
    if case.state in ("on_hold", "complete", "refused"):
        return case.state
    if told.rules.require_identity and case.identity_at is None:
        return "identity"
    if case.state in ("planned", "approved"):
        return "approve" if told.approval_missing else "execute"
    return "plan"


def _stamps(told: Dossier) -> dict[str, str]:
    """Return verb → the day on which it was last done."""
    found: dict[str, str] = {}
    for event in told.events:
        verb = str(event.data.get("verb", ""))
        found.setdefault(verb, f"{event.at:%-d %b}")
    return found


def _notes(told: Dossier) -> dict[str, str]:
    case, days = told.case, _stamps(told)
    plan = f", plan {told.plan.number}" if told.plan else ""
    return {
        "received": f"{case.received_at:%-d %b}",
        "identity": days.get("identify", "asked for here"),
        "plan": f"{days['plan']}{plan}" if "plan" in days else "a dry run",
        "approve": days.get("approve", "by a second person"),
        "run": days.get("execute", "in the background"),
        "verify": days.get("verify", "a search of every place"),
        "end": f"{case.closed_at:%-d %b}" if case.closed_at else "",
    }


def _wanted(told: Dossier) -> list[str]:
    """Return which steps this case has: those nobody asks for are left out."""
    case = told.case
    left = set()
    if case.kind not in PROVED:
        left.add("verify")
    if not told.rules.two_person and not case.approved_at:
        left.add("approve")
    if not told.rules.require_identity and case.identity_at is None:
        left.add("identity")
    if case.state == CaseState.REFUSED:
        left |= _never_came(told)
    return [key for key in ORDER if key not in left]


def _never_came(told: Dossier) -> set[str]:
    """Return the steps that a refusal spared: they must not look done."""
    came = {"plan": "plan", "run": "execute", "verify": "verify"}
    days = _stamps(told)
    return {key for key, verb in came.items() if verb not in days}


def _here(told: Dossier) -> str:
    asked = todo(told)
    if asked in ("identity", "approve"):
        return asked
    return AT.get(told.case.held_from or told.case.state, "plan")


def nodes(told: Dossier) -> list[Node]:
    """Return the nodes of the progress line."""
    case, keys, notes, here = told.case, _wanted(told), _notes(told), _here(told)
    at = keys.index(here) if here in keys else 0
    steps = []
    for position, key in enumerate(keys):
        title, note = TITLES[key], notes[key]
        mark = "done" if position < at or case.state == CaseState.COMPLETE else ""
        if key == "identity" and case.identity_at is None:
            mark = ""
        if position == at and case.state != CaseState.COMPLETE:
            mark, note = _current(case, note)
        if case.state == CaseState.PARTIAL and key in ("run", "verify"):
            mark = "done" if key == "run" else "back"
            note = note if key == "run" else "something is left"
        if key == "run" and case.run > 1:
            title = f"Run {case.run}"
        if key == "end" and case.state == CaseState.REFUSED:
            title = "Refused"
        steps.append(Node(title, note, mark))
    return steps


def _current(case: Case, note: str) -> tuple[str, str]:
    if case.state == CaseState.ON_HOLD:
        return "back", "on hold"
    if case.state == CaseState.REFUSED:
        return "back", note
    if case.state in UNDER_WAY:
        return "now", "under way"
    return (
        "now",
        "plan the rest" if case.state == CaseState.PARTIAL else "waits for you",
    )

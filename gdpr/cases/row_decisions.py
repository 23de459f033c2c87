"""Decisions on rows of a plan: a doubtful one is the person's or stays, any may stay.

A decision makes a new plan, which drops the approval of the old one. The audit log
records who decided on how many rows, and the ground, which names nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from gdpr import audit_log
from gdpr.cases import dry_run, transitions
from gdpr.cases import workflow as cases
from gdpr.cases.state_machine import Verb
from gdpr.data_map import requests
from gdpr.models import (
    ActionKind,
    Case,
    CaseEvent,
    CasePlan,
    Ground,
    RowVerdict,
    Verdict,
)
from memory.rules import errors
from memory.rules.permissions import Actor

MAX_ROWS: Final = 10_000
# Rows of the requests themselves, and what was made for them.
REQUESTS: Final = frozenset({*dry_run.NOT_RECTIFIED, "exports"})
Row = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A verdict on rows; ``all_doubtful`` means every undecided one.

    ``forms`` and ``places`` mean the undecided ones of a form of the name, or of a
    place.

    A row that is kept needs a ground, which the certificate counts, and a reason, which
    is stored in the case while it is open.
    """

    verdict: Verdict
    rows: Sequence[Row] = ()
    all_doubtful: bool = False
    forms: Sequence[str] = ()
    places: Sequence[str] = ()
    ground: str = ""
    reason: str = ""


def _reason(decision: Decision) -> str:
    spares = decision.verdict == Verdict.SPARED
    if spares and decision.ground not in Ground.values:
        ground_names = ", ".join(Ground.values)
        raise errors.Invalid(
            f"ground is one of {ground_names}.", code="ground_required"
        )
    return transitions.clean_text(decision.reason, "reason", need=spares)


def _rows_of_own_request(case: Case, rows: Iterable[Row]) -> list[Row]:
    """Return the rows about this person's own request; they are erased with the names.

    Cases of other people are ordinary rows.
    """
    request_rows = [row for row in rows if row[0] in REQUESTS]
    if not request_rows:
        return []
    person = dry_run.person_of(case)
    holders = (requests.CASES, requests.DECISIONS)
    own = {(place.name, row_id) for place in holders for row_id in place.own(person)}
    names = {place.name for place in holders}
    return [row for row in request_rows if row[0] not in names or row in own]


def _open_rows(plan: CasePlan, decision: Decision) -> Iterator[Row]:
    """Yield the undecided rows that a decision means by their form or their place."""
    for form, ids_by_place in dry_run.doubts(plan)["by_form"].items():
        for place, ids in ids_by_place.items():
            is_meant = form in decision.forms or place in decision.places
            if decision.all_doubtful or is_meant:
                yield from ((place, row_id) for row_id in ids)


def _rows(case: Case, plan: CasePlan, decision: Decision) -> list[Row]:
    """Return the selected rows, each once; Invalid for one not in the plan."""
    selected = dict.fromkeys([*decision.rows, *_open_rows(plan, decision)])
    if not selected:
        raise errors.Invalid(gettext("No row was chosen."), code="no_rows")
    if len(decision.rows) > MAX_ROWS:
        raise errors.TooLarge(what="rows", limit=MAX_ROWS, size=len(decision.rows))
    planned = {(place, row[0]) for place, rows in plan.rows.items() for row in rows}
    foreign = [row for row in selected if row not in planned]
    if foreign:
        detail = gettext("The plan has no such row; read the newest one.")
        raise errors.Invalid(detail, code="unknown_row", rows=len(foreign))
    if decision.verdict == Verdict.SPARED:
        own_rows = _rows_of_own_request(case, selected)
        if own_rows:
            detail = gettext(
                "Texts about the request itself are erased with it and cannot be kept."
            )
            raise errors.Invalid(detail, code="row_goes", rows=len(own_rows))
    return list(selected)


def _keep(
    case: Case, rows: Iterable[Row], decision: Decision, reason: str, by: Actor
) -> None:
    spares = decision.verdict == Verdict.SPARED
    RowVerdict.objects.bulk_create(
        [
            RowVerdict(
                workspace_id=case.workspace_id,
                case=case,
                place=place,
                row_id=row_id,
                verdict=decision.verdict,
                ground=decision.ground if spares else "",
                reason=reason,
                decided_by=by.label,
                decided_at=timezone.now(),
            )
            for place, row_id in rows
        ],
        batch_size=500,
        update_conflicts=True,
        unique_fields=["workspace", "case", "place", "row_id"],
        update_fields=["verdict", "ground", "reason", "decided_by", "decided_at"],
    )


def decide(case: Case, plan_hash: str, decision: Decision, *, by: Actor) -> CasePlan:
    """Decide on rows of exactly this plan; return the new plan."""
    by.require(cases.MAY, case.workspace_id)
    reason = _reason(decision)
    with transaction.atomic():
        live = transitions.locked(case)
        transitions.target_state(live, Verb.PLAN)
        plan = cases.require_newest_plan(live, plan_hash)
        rows = _rows(live, plan, decision)
        _keep(live, rows, decision, reason, by)
        _record(live, len(rows), decision, by)
    return dry_run.make(transitions.case(by, case.pk), by=by)


def _record(case: Case, count: int, decision: Decision, by: Actor) -> None:
    """Record the decision in audit log, timeline and journal, as counts."""
    scope = {
        "verdict": str(decision.verdict),
        "rows": count,
        "ground": decision.ground or None,
    }
    audit_log.note(
        case.subject_ref, ActionKind.DECIDE, by=by, case_ref=case.id, scope=scope
    )
    rows = "1 row" if count == 1 else f"{count:,} rows"
    if decision.verdict == Verdict.SPARED:
        ground = transitions.stored_label(Ground(decision.ground)).lower()
        text = f"{rows} kept by decision: {ground}"
    else:
        text = f"{rows} decided to be this person’s"
    transitions.event(case, CaseEvent.Kind.FACT, text, by=by, data=scope)
    transitions.record(case, "rows_decided", by=by, details=scope)

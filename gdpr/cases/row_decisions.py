"""Deciding on rows of a plan: a doubtful one is the person's or stays, any may stay.

A decision makes a new plan, and an approval of the earlier one falls. The ledger says
who decided on how many rows; why a row stays is told by a ground, which names nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from django.db import transaction
from django.utils import timezone

from gdpr import audit_log
from gdpr.cases import dry_run, transitions
from gdpr.cases import workflow as cases
from gdpr.cases.state_machine import Verb
from gdpr.data_map import requests
from gdpr.models import (
    ActionKind,
    ActionStatus,
    Case,
    CaseEvent,
    CasePlan,
    Ground,
    RowVerdict,
    Verdict,
)
from memory.rules import errors
from memory.rules.permissions import Actor

MOST: Final = 10_000
Row = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What is decided of which rows; ``all_doubtful`` means every undecided one.

    A row that stays needs a ground, which the certificate counts, and a reason, which
    stays in the case while it is open.
    """

    verdict: Verdict
    rows: Sequence[Row] = ()
    all_doubtful: bool = False
    ground: str = ""
    reason: str = ""


def _reason(told: Decision) -> str:
    spares = told.verdict == Verdict.SPARED
    if spares and told.ground not in Ground.values:
        known = ", ".join(Ground.values)
        raise errors.Invalid(f"ground is one of {known}.", code="ground_required")
    return transitions.words(told.reason, "reason", need=spares)


def _wiped(case: Case, rows: Iterable[Row]) -> list[Row]:
    """Return which rows are about this person's own request; they go with the names.

    The cases of other people are rows like any others.
    """
    about = [row for row in rows if row[0] in dry_run.UNTOUCHED]
    if not about:
        return []
    who = dry_run.whom(case)
    written = (requests.CASES, requests.DECISIONS)
    own = {(place.name, row_id) for place in written for row_id in place.own(who)}
    names = {place.name for place in written}
    return [row for row in about if row[0] not in names or row in own]


def _rows(case: Case, plan: CasePlan, told: Decision) -> list[Row]:
    """Return the rows that are meant, each once; Invalid for one not in the plan."""
    chosen = dict.fromkeys(told.rows)
    if told.all_doubtful:
        waiting = dry_run.doubts(plan)["ids"]
        chosen |= dict.fromkeys((p, one) for p, ids in waiting.items() for one in ids)
    if not chosen:
        raise errors.Invalid("No row was chosen.", code="no_rows")
    if len(chosen) > MOST and not told.all_doubtful:
        raise errors.TooLarge(what="rows", limit=MOST, size=len(chosen))
    known = {(place, row[0]) for place, rows in plan.rows.items() for row in rows}
    foreign = [row for row in chosen if row not in known]
    if foreign:
        detail = "The plan has no such row; read the newest one."
        raise errors.Invalid(detail, code="unknown_row", rows=len(foreign))
    if told.verdict == Verdict.SPARED:
        wiped = _wiped(case, chosen)
        if wiped:
            detail = "What was written about the request itself goes with it."
            raise errors.Invalid(detail, code="row_goes", rows=len(wiped))
    return list(chosen)


def _keep(
    case: Case, rows: Iterable[Row], told: Decision, reason: str, by: Actor
) -> None:
    spares = told.verdict == Verdict.SPARED
    RowVerdict.objects.bulk_create(
        [
            RowVerdict(
                workspace_id=case.workspace_id,
                case=case,
                place=place,
                row_id=row_id,
                verdict=told.verdict,
                ground=told.ground if spares else "",
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


def decide(case: Case, plan_hash: str, told: Decision, *, by: Actor) -> CasePlan:
    """Decide on rows of exactly this plan; return the plan that follows from it."""
    by.require(cases.MAY, case.workspace_id)
    reason = _reason(told)
    with transaction.atomic():
        live = transitions.locked(case)
        transitions.goal(live, Verb.PLAN)
        plan = cases.latest_plan(live)
        if plan is None or plan.plan_hash != plan_hash:
            detail = "There is a newer plan; read that one."
            raise errors.Conflict(detail, code="stale_plan")
        rows = _rows(live, plan, told)
        _keep(live, rows, told, reason, by)
        _tell(live, len(rows), told, by)
    return dry_run.make(transitions.case(by, case.pk), by=by)


def _tell(case: Case, count: int, told: Decision, by: Actor) -> None:
    """Leave the decision in the ledger, the timeline and the journal, in numbers."""
    scope = {"verdict": str(told.verdict), "rows": count, "ground": told.ground or None}
    row = audit_log.begin(
        case.subject_ref, ActionKind.DECIDE, by=by, case_ref=case.id, scope=scope
    )
    audit_log.finish(row, ActionStatus.COMPLETED)
    rows = "1 row" if count == 1 else f"{count:,} rows"
    if told.verdict == Verdict.SPARED:
        text = f"{rows} kept by decision: {Ground(told.ground).label.lower()}"
    else:
        text = f"{rows} decided to be this person’s"
    transitions.event(case, CaseEvent.Kind.FACT, text, by=by, data=scope)
    transitions.tell(case, "rows_decided", by=by, told=scope)

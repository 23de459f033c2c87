"""Counts of open, overdue and due cases for the home page and the menu."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.db.models import Count, F, OuterRef, Subquery
from django.db.models.fields.json import KT
from django.db.models.functions import Coalesce
from django.db.models.lookups import LessThanOrEqual

from gdpr.cases import privacy_settings, queries
from gdpr.models import OPEN, Case, CasePlan, CaseState, Subject
from memory.rules.permissions import Actor

PLAN_LIMIT: Final = 100


@dataclass(frozen=True, slots=True)
class CaseCounts:
    """How many cases are open, overdue and due soon.

    ``soon`` counts cases due today or within a week that are not overdue; ``today`` are
    those of them that are due today.
    """

    open: int = 0
    late: int = 0
    today: int = 0
    soon: int = 0


@dataclass(frozen=True, slots=True)
class PlanWork:
    """Planned cases that wait for a person, as ids, the earliest deadline first.

    ``doubtful`` have rows to decide, ``approvals`` a plan that the actor may approve.
    """

    doubtful: tuple[str, ...] = ()
    approvals: tuple[str, ...] = ()


def case_counts(actor: Actor) -> CaseCounts | None:
    """Return the counts, None for an actor who may not read cases."""
    if not actor.can("gdpr.read"):
        return None
    rules = privacy_settings.of(actor.workspace_id)
    today, soon = (queries.between(due, rules) for due in ("today", "soon"))
    until = Coalesce(F("extended_until"), F("due_at"))
    rows = Case.objects.filter(workspace_id=actor.workspace_id, state__in=OPEN)
    counts = rows.order_by().aggregate(
        open=Count("pk"),
        late=Count("pk", filter=LessThanOrEqual(until, today[0])),
        upto_today=Count("pk", filter=LessThanOrEqual(until, today[1])),
        upto_soon=Count("pk", filter=LessThanOrEqual(until, soon[1])),
    )
    late = counts["late"]
    return CaseCounts(
        open=counts["open"],
        late=late,
        today=counts["upto_today"] - late,
        soon=counts["upto_soon"] - late,
    )


def is_untouched(actor: Actor) -> bool:
    """Whether the workspace has no subject and no case, whatever their state."""
    actor.require("gdpr.read")
    return not any(
        model.objects.filter(workspace_id=actor.workspace_id).exists()
        for model in (Subject, Case)
    )


def urgent(
    actor: Actor, limit: int = 5, *, due: str = ""
) -> list[tuple[Case, queries.Deadline]]:
    """Return the open cases with the earliest deadlines, or those of ``due`` alone."""
    if not actor.can("gdpr.read"):
        return []
    rules = privacy_settings.of(actor.workspace_id)
    query = queries.CaseQuery(state="open", due=due)
    rows = queries.page(actor, query, limit=limit).items
    return [(case, queries.deadline(case, rules)) for case in rows]


def plan_work(actor: Actor) -> PlanWork:
    """Return the planned cases that wait for this actor, at most ``PLAN_LIMIT``."""
    if not actor.can("gdpr.manage"):
        return PlanWork()
    plans = CasePlan.objects.filter(
        workspace_id=actor.workspace_id, case_id=OuterRef("pk")
    ).order_by("-number")
    rows = Case.objects.filter(
        workspace_id=actor.workspace_id, state=CaseState.PLANNED
    ).annotate(
        planner=Subquery(plans.values("made_by_id")[:1]),
        undecided=Subquery(plans.values(n=KT("body__doubts__undecided"))[:1]),
    )
    two_person = privacy_settings.of(actor.workspace_id).two_person
    doubtful_ids, approvals = [], []
    fields = ("pk", "opened_by_id", "planner", "undecided")
    for case_id, opener, planner, undecided_count in rows.order_by(
        "due_at"
    ).values_list(*fields)[:PLAN_LIMIT]:
        if int(undecided_count or 0):
            doubtful_ids.append(case_id)
        elif two_person and actor.id not in (opener, planner):
            approvals.append(case_id)
    return PlanWork(tuple(doubtful_ids), tuple(approvals))

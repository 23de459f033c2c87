"""Counts of open, overdue and due cases for the home page and the menu."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils import timezone

from gdpr.cases import privacy_settings, queries
from gdpr.models import OPEN, Case
from memory.rules.permissions import Actor


@dataclass(frozen=True, slots=True)
class CaseCounts:
    """How many cases are open, overdue and due soon.

    ``soon`` counts cases due today or within a week that are not overdue.
    """

    open: int = 0
    late: int = 0
    soon: int = 0


def case_counts(actor: Actor) -> CaseCounts | None:
    """Return the counts, None for an actor who may not read cases."""
    if not actor.can("gdpr.read"):
        return None
    rules, now = privacy_settings.of(actor.workspace_id), timezone.now()
    rows = Case.objects.filter(workspace_id=actor.workspace_id, state__in=OPEN)
    slim = rows.only("due_at", "extended_until", "closed_at")
    urgencies = [queries.deadline(case, rules, now).urgency for case in slim.iterator()]
    return CaseCounts(
        open=len(urgencies),
        late=urgencies.count("overdue"),
        soon=urgencies.count("today") + urgencies.count("soon"),
    )


def urgent(actor: Actor, limit: int = 5) -> list[tuple[Case, queries.Deadline]]:
    if not actor.can("gdpr.read"):
        return []
    rules = privacy_settings.of(actor.workspace_id)
    query = queries.CaseQuery(state="open")
    rows = queries.page(actor, query, limit=limit).items
    return [(case, queries.deadline(case, rules)) for case in rows]

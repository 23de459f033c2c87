"""What a repair is expected to bring, by the formulas of the metrics.

One metric is computed as it would be after the repair, the others stay as measured:
what else a repair moves, such as the age of a new rule, is not in the figure.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Q, QuerySet

from episodic.health.metrics import coverage, reachability
from episodic.health.metrics import table as metrics
from episodic.index import snapshot as index
from episodic.models import (
    ConsolidationProposal,
    HealthSnapshot,
    MemoryRelation,
    ProposalState,
)
from memory.models import JournalEntry

COVERAGE: Final = coverage.METRIC.name
REACHABILITY: Final = reachability.METRIC.name
# More are indexed by a job.
INDEXED_AT_ONCE: Final = 512
LINKED_AT_ONCE: Final = 2_000
PROPOSALS_READ: Final = 1_000
EVIDENCE_READ: Final = 2_000


@dataclass(frozen=True, slots=True)
class Gain:
    """The score expected after a repair of so many things, and what it is now."""

    count: int
    before: float | None
    after: float | None
    is_least: bool = False

    @property
    def points(self) -> float:
        """The points of the score that the repair returns."""
        return round((self.after or 0.0) - (self.before or 0.0), 1)


def _gain(
    row: HealthSnapshot, metric: str, value: float | None, count: int, **more: bool
) -> Gain:
    after = metrics.score(metrics.values(row) | {metric: value})
    return Gain(count, row.score, after, **more)


def of_index(row: HealthSnapshot) -> Gain:
    """Return what embedding the waiting entries brings, if none is refused."""
    details = row.details[COVERAGE]
    total, indexed = details["embeddable"], details["indexed"]
    return _gain(row, COVERAGE, coverage.value(total, total), total - indexed)


def of_link(row: HealthSnapshot) -> Gain:
    """Return what linking entries to near older ones brings."""
    details = row.details[REACHABILITY]
    count = reachability.linkable(details, LINKED_AT_ONCE)
    value = reachability.value(details["connected"] + count, details["embeddings"])
    return _gain(row, REACHABILITY, value, count)


def of_proposals(row: HealthSnapshot) -> Gain:
    """Return what approving every waiting rule brings, each once it is embedded.

    A rule is linked to its evidence: evidence without a relation gets one, and the rule
    itself is a new entry with relations.
    """
    pending = ConsolidationProposal.objects.filter(
        workspace_id=row.workspace_id, state=ProposalState.PENDING
    )
    if row.crew_id:
        pending = pending.filter(crew_id=row.crew_id)
    return _of_rules(row, pending)


def of_approved(row: HealthSnapshot, until: datetime) -> Gain:
    """Return what the rules approved between a measurement and a moment should bring.

    Counted as before their approval: relations made since are left out.
    """
    approved = ConsolidationProposal.objects.filter(
        workspace_id=row.workspace_id,
        state=ProposalState.APPROVED,
        decided_at__gt=row.computed_at,
        decided_at__lte=until,
    )
    if row.crew_id:
        approved = approved.filter(crew_id=row.crew_id)
    return _of_rules(row, approved)


def _of_rules(row: HealthSnapshot, proposals: QuerySet[ConsolidationProposal]) -> Gain:
    count = proposals.count()
    details = row.details.get(REACHABILITY)
    if not count or not details:
        return Gain(count, row.score, row.score)
    rules = _rules(row.workspace_id, proposals)
    evidence = {entry_id for rule in rules for entry_id in rule}
    fresh = len(_unlinked(row, evidence))
    value = reachability.value(
        details["connected"] + fresh + len(rules), details["embeddings"] + len(rules)
    )
    return _gain(row, REACHABILITY, value, count, is_least=len(rules) < count)


def _rules(
    workspace_id: str, pending: QuerySet[ConsolidationProposal]
) -> list[list[str]]:
    """Return the living evidence of the rules that can be approved, as many as fit."""
    rows = pending.order_by("-created_at").values_list("evidence", flat=True)
    lists: list[list[str]] = []
    size = 0
    for evidence in rows[:PROPOSALS_READ]:
        size += len(evidence)
        if size > EVIDENCE_READ:
            break
        lists.append(evidence)
    entries = JournalEntry.objects.filter(
        workspace_id=workspace_id,
        pk__in={entry_id for evidence in lists for entry_id in evidence},
        erased_at__isnull=True,
        restricted_at__isnull=True,
    )
    living = set(entries.values_list("pk", flat=True))
    rules = [[e for e in evidence if e in living] for evidence in lists]
    return [rule for rule in rules if len(rule) >= 2]


def _unlinked(row: HealthSnapshot, entry_ids: set[str]) -> set[str]:
    """Return which of the entries have a vector and had no relation when measured."""
    embedded = index.current(row.workspace_id).filter(pk__in=entry_ids)
    if row.crew_id:
        embedded = embedded.filter(crew_id=row.crew_id)
    ends = MemoryRelation.objects.filter(workspace_id=row.workspace_id).filter(
        Q(src__in=entry_ids) | Q(dst__in=entry_ids), created_at__lte=row.computed_at
    )
    linked = {entry_id for pair in ends.values_list("src", "dst") for entry_id in pair}
    return set(embedded.values_list("pk", flat=True)) - linked

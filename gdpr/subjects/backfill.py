"""Searches what is already stored for aliases that were added later."""

from __future__ import annotations

from typing import Final

from django.db import transaction
from django.utils import timezone

from gdpr import linking
from gdpr.data_map import registry
from gdpr.data_map.base import Fate, Person
from gdpr.matching.matcher import Matcher, Name
from gdpr.models import Alias, Via
from memory.jobs import time_box
from memory.journal import compaction, visibility

# Places whose rows are linked; the others are searched when a plan is made.
PLACES: Final = (
    "journal", "archive", "files", "held", "records", "proposals", "recall_checks",
)  # fmt: skip
BATCH: Final = 500


def _person_with(alias: Alias) -> Person:
    matcher = Matcher([Name(alias.subject_id, alias.kind, alias.value)])
    return Person(
        workspace_id=alias.workspace_id,
        subject_id=alias.subject_id,
        matcher=matcher,
        others_matcher=Matcher([]),
        links={},
    )


def _link(alias: Alias, place: str, row_ids: list[str]) -> None:
    with transaction.atomic():
        links = ((alias.subject_id, place, row_id, Via.MATCHED) for row_id in row_ids)
        linking.link(alias.workspace_id, links)
        if place == "journal" and alias.subject.restricted_at is not None:
            visibility.restrict(alias.workspace_id, row_ids)
        if place == "archive" and alias.subject.restricted_at is not None:
            compaction.restrict(alias.workspace_id, row_ids)


def sweep_alias(alias: Alias) -> int:
    """Link every stored row that contains an alias; return how many rows."""
    person, count = _person_with(alias), 0
    for place in PLACES:
        batch: list[str] = []
        for row in registry.by_name(place).find(person):
            if row.fate == Fate.KEEP or row.doubtful:
                continue
            batch.append(row.row_id)
            count += 1
            if len(batch) >= BATCH:
                _link(alias, place, batch)
                batch = []
        _link(alias, place, batch)
    # An alias that was removed or changed meanwhile is not marked as searched.
    rows = Alias.objects.filter(pk=alias.pk, value=alias.value)
    rows.update(swept_at=timezone.now())
    return count


def sweep(limit: int = 50) -> dict[str, int]:
    """Search for the aliases that were not searched for yet, the oldest first."""
    counts = {"aliases": 0, "rows": 0}
    aliases = Alias.objects.filter(swept_at=None).select_related("subject")
    for alias in aliases.order_by("pk")[:limit]:
        if time_box.is_over():
            break
        counts["aliases"] += 1
        counts["rows"] += sweep_alias(alias)
    return counts

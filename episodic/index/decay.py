"""Nightly decay and reinforcement: every embedding's importance, computed anew.

``importance = base × recency × boost`` with the base of the entry's live priority, so
that a run never builds on the last one: for one moment it may run any number of times.
Rows are read and written in batches, each a transaction of its own, so that appends
wait milliseconds. Rows whose value stays are not written, nor is the change log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from episodic.index import importance
from episodic.index.importance import Importance
from episodic.models import Embedding
from memory.jobs import time_box
from memory.models import JournalEntry
from memory.rules import errors

BATCH: Final = 2_000
# PostgreSQL has room for one new version on a page until a transaction ends: so many
# of a workspace's rows in one lie on pages of their own, nearly all.
BATCH_SHARE: Final = 1 / 200
LEAST_BATCH: Final = 10
DAY_SECONDS: Final = 86_400
# A smaller difference is no change: no ranking could show it.
LEAST_CHANGE: Final = 1e-9
FIELDS: Final = (
    "entry_id importance_score indexed_at reference_count kind loud mark".split()
)


class RowsLost(errors.AppError):
    """A batch would have lost rows; it was rolled back."""

    code, status, title = "rows_lost", 500, "Rows would have been lost"
    sentence = "Decay stopped: {written} of {wanted} rows were written in a batch."


@dataclass(slots=True)
class Report:
    """The rows a run read, and how many of them got another importance."""

    rows: int = 0
    updated: int = 0

    @property
    def unchanged(self) -> int:
        """Rows whose value stayed the same."""
        return self.rows - self.updated


def _days_since(indexed_at: datetime, at: datetime) -> float:
    """Return the days since an entry was first indexed, none for a future one."""
    return max(0.0, (at - indexed_at).total_seconds() / DAY_SECONDS)


def parts(entry: JournalEntry, row: Embedding, at: datetime) -> Importance | None:
    """Return an entry's importance by its live priority, None before it is indexed."""
    if row.indexed_at is None:
        return None
    exact = importance.explain(
        entry.entry_type,
        entry.severity,
        entry.priority,
        days=_days_since(row.indexed_at, at),
        references=row.reference_count,
    )
    return replace(
        exact,
        base=round(exact.base, 4),
        recency=round(exact.recency, 4),
        boost=round(exact.boost, 4),
        value=round(exact.value, 4),
        days=round(exact.days, 2),
    )


def value_as(entry: JournalEntry, row: Embedding, priority: str, at: datetime) -> float:
    """Return the importance that an entry would have with a priority, unrounded.

    Where no run of decay computes it, while it has no vector, it is the stored value.
    """
    if row.indexed_at is None or not row.dim:
        return row.importance_score
    return importance.explain(
        entry.entry_type,
        entry.severity,
        priority,
        days=_days_since(row.indexed_at, at),
        references=row.reference_count,
    ).value


def _value(row: dict[str, Any], at: datetime) -> float:
    return importance.explain(
        row["kind"],
        row["loud"],
        row["mark"],
        days=_days_since(row["indexed_at"], at),
        references=row["reference_count"],
    ).value


def _batch(entry_ids: Sequence[str]) -> list[dict[str, Any]]:
    rows = Embedding.objects.filter(
        pk__in=entry_ids, dim__gt=0, indexed_at__isnull=False
    )
    annotated = rows.order_by("pk").annotate(
        kind=F("entry__entry_type"),
        loud=F("entry__severity"),
        mark=F("entry__priority"),
    )
    locked = annotated.select_for_update(of=("self",), no_key=True)
    return list(locked.values(*FIELDS))


def _write(changes: Sequence[tuple[float, str]]) -> None:
    """Write values; RowsLost when a row that was just read is not there."""
    if not changes:
        return
    sql = "UPDATE journal_embeddings SET importance_score = %s WHERE entry_id = %s"
    with connection.cursor() as cursor:
        cursor.executemany(sql, list(changes))
        count = cursor.rowcount
    if count != len(changes):
        raise RowsLost(written=count, wanted=len(changes))


def _recompute(entry_ids: Sequence[str], at: datetime, report: Report) -> None:
    with transaction.atomic():
        rows = _batch(entry_ids)
        values = [(_value(row, at), row) for row in rows]
        changes = [
            (value, row["entry_id"])
            for value, row in values
            if abs(value - row["importance_score"]) > LEAST_CHANGE
        ]
        _write(changes)
    report.rows += len(rows)
    report.updated += len(changes)


def refresh(entry_ids: Sequence[str]) -> Report:
    """Recompute a few entries now: a changed priority need not wait for the night."""
    report = Report()
    _recompute(entry_ids, timezone.now(), report)
    return report


def run(workspace_id: str, *, at: datetime | None = None) -> Report:
    """Recompute every embedding's importance of a workspace, as of ``at`` or now."""
    moment = at or timezone.now()
    report = Report()
    with_vector = Embedding.objects.filter(
        workspace_id=workspace_id, dim__gt=0, indexed_at__isnull=False
    )
    # The ids once: SQLite would sort the whole workspace again for every batch.
    entry_ids = list(with_vector.order_by("pk").values_list("pk", flat=True))
    size = _batch_size(len(entry_ids))
    for start in range(0, len(entry_ids), size):
        if time_box.is_ending():
            break
        _recompute(entry_ids[start : start + size], moment, report)
    return report


def _batch_size(rows: int) -> int:
    """Return how many rows of so many to write in a transaction."""
    if connection.vendor == "sqlite":
        return BATCH
    return min(BATCH, max(LEAST_BATCH, int(rows * BATCH_SHARE)))

"""Housekeeping jobs: delete old idempotency records, merge SQLite's word indexes.

The word ranking's own tables are kept by ``word_index.storage``.

ANALYZE is not run on SQLite. With statistics the planner takes the index of a scope and
sorts, instead of reading the newest records in order: a page of 20,000 records took
four times as long. Queries that name rows by id say so (``records.access.equal``).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.db import connection
from django.utils import timezone

from memory import fulltext
from memory.models import IdempotencyRecord

MAX_AGE: Final = timedelta(hours=24)
CHUNK: Final = 1_000
INDEXES: Final = ("journal_fts", "chunks_fts")
PAGES_PER_STEP: Final = 500
MAX_STEPS: Final = 2_000


def delete_old_idempotency_records(at: datetime | None = None) -> int:
    """Delete idempotency records older than a day; return how many."""
    before, count = (at or timezone.now()) - MAX_AGE, 0
    while True:
        old = IdempotencyRecord.objects.filter(created_at__lt=before)
        ids = list(old.order_by("created_at").values_list("pk", flat=True)[:CHUNK])
        if not ids:
            return count
        count += IdempotencyRecord.objects.filter(pk__in=ids).delete()[0]


def merge_word_indexes() -> int:
    """Merge the segments of SQLite's word indexes; return the number of steps.

    In steps of some milliseconds instead of one long ``optimize``, so that appends wait
    only briefly. PostgreSQL maintains its indexes itself.
    """
    if not fulltext.is_sqlite():
        return 0
    return sum(_merge(name) for name in INDEXES)


def _merge(name: str) -> int:
    """Merge until a step finds nothing to do; a negative rank begins a full merge."""
    sql = f"INSERT INTO {name}({name}, rank) VALUES ('merge', %s)"  # noqa: S608
    with connection.cursor() as cursor:
        for step in range(MAX_STEPS):
            before = _changes(cursor)
            cursor.execute(sql, [PAGES_PER_STEP if step else -PAGES_PER_STEP])
            # The command itself counts as one change; more means that it worked.
            if _changes(cursor) - before < 2:
                return step
    return MAX_STEPS


def _changes(cursor: object) -> int:
    cursor.execute("SELECT total_changes()")  # type: ignore[attr-defined]
    return int(cursor.fetchone()[0])  # type: ignore[attr-defined]

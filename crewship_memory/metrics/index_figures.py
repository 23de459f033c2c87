"""How far the index is behind the journal, by statements that read no vectors."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from django.db import connection
from django.db.models import F, Min, OuterRef, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from episodic.models import IndexState, State
from memory import fulltext
from memory.measurements import declared
from memory.measurements.declared import Figure, Value
from memory.models import ChainHead, JournalEntry

# More rows without a vector are not counted at a scrape.
COUNT_LIMIT: Final = 100_000
BY_STATE: Final = {
    state: declared.computed(f"index_{state}", f"Entries whose embedding is {state}.")
    for state in State.values
}
UNREAD: Final = declared.computed(
    "index_unread", "Entries that the sweep of the index has not read."
)
OLDEST: Final = declared.computed(
    "index_oldest_pending_seconds", "The longest wait of an entry for its vector."
)
SIZE: Final = (BY_STATE[State.INDEXED],)
LAG: Final = (
    *(figure for state, figure in BY_STATE.items() if state != State.INDEXED),
    UNREAD,
    OLDEST,
)
# The condition, and the order, are those of the partial index ``embedding_waiting``.
_COUNTS: Final = (
    "SELECT state, count(*) FROM (SELECT state FROM journal_embeddings"
    " WHERE NOT (journal_embeddings.state = 'indexed')"
    " ORDER BY workspace_id, seq DESC LIMIT %s) AS rows_waiting"
    " GROUP BY state"
)
_FIRST: Final = (
    "SELECT (SELECT entry_id FROM journal_embeddings"
    " WHERE journal_embeddings.workspace_id = workspaces.id"
    " AND NOT (journal_embeddings.state = 'indexed') AND state = 'pending'"
    " ORDER BY seq LIMIT 1) FROM workspaces"
)
# The table itself, or its leaves where it is partitioned; -1 is one never analysed.
_ESTIMATE: Final = (
    "SELECT sum(greatest(reltuples, 0)), min(reltuples) FROM pg_class WHERE oid IN"
    " (SELECT relid FROM pg_partition_tree('journal_embeddings') WHERE isleaf)"
    " OR (oid = 'journal_embeddings'::regclass AND relkind = 'r')"
)
_COUNT: Final = (
    "SELECT count(*) FROM (SELECT state FROM journal_embeddings{limit}) AS every_row"
)


def _numbers() -> dict[str, int]:
    """Return the number of rows in each state but indexed, of at most so many."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS, [COUNT_LIMIT])
        return dict(cursor.fetchall())


def lag() -> dict[Figure, list[Value]]:
    """Return what waits for a vector, and for how long the oldest of it has."""
    numbers = _numbers()
    with connection.cursor() as cursor:
        cursor.execute(_FIRST)
        first_ids = [entry_id for (entry_id,) in cursor.fetchall() if entry_id]
    entries = JournalEntry.objects.filter(pk__in=first_ids)
    oldest_times = [entries.aggregate(at=Min("recorded_at"))["at"]]
    unread = _unread()
    oldest_times.append(unread["oldest"])
    values: dict[Figure, list[Value]] = {
        figure: [((), float(numbers.get(state, 0)))]
        for state, figure in BY_STATE.items()
        if state != State.INDEXED
    }
    return {
        **values,
        UNREAD: [((), float(unread["number"] or 0))],
        OLDEST: [((), _age(oldest_times))],
    }


def _unread() -> dict[str, Any]:
    """Return how many entries lie behind the sweep, and when the first was written."""
    read = IndexState.objects.filter(pk=OuterRef("pk")).values("seq")[:1]
    heads = ChainHead.objects.annotate(read=Coalesce(Subquery(read), 0))
    behind = heads.filter(seq__gt=F("read"))
    first = JournalEntry.objects.filter(
        workspace_id=OuterRef("pk"), seq__gt=OuterRef("read")
    )
    at = Subquery(first.order_by("seq").values("recorded_at")[:1])
    return behind.annotate(at=at, gap=F("seq") - F("read")).aggregate(
        number=Sum("gap"), oldest=Min("at")
    )


def _age(moments: list[datetime | None]) -> float:
    """Return the age of the oldest moment, 0 when there is none."""
    dates = [moment for moment in moments if moment is not None]
    if not dates:
        return 0.0
    return max(0.0, (timezone.now() - min(dates)).total_seconds())


def size() -> dict[Figure, list[Value]]:
    """Return how many entries have a vector: exact on SQLite, else estimated."""
    number = max(0.0, _rows() - sum(_numbers().values()))
    return {BY_STATE[State.INDEXED]: [((), number)]}


def _rows() -> float:
    with connection.cursor() as cursor:
        if fulltext.is_sqlite():
            cursor.execute(_COUNT.format(limit=""))
            return float(cursor.fetchone()[0])
        cursor.execute(_ESTIMATE)
        total, lowest = cursor.fetchone()
        if total and lowest >= 0:
            return float(total)
        # Never analysed: it is new, and small.
        cursor.execute(_COUNT.format(limit=f" LIMIT {COUNT_LIMIT}"))
        return float(cursor.fetchone()[0])

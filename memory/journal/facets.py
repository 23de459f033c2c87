"""What the entries that match a filter have in common: counts by column, and over time.

Both are of the newest LIMIT matching entries: one bounded read, whatever the journal's
length. The database counts; what comes back are groups.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import QuerySet

from memory.journal import queries
from memory.journal.histogram import Bar, histogram
from memory.journal.queries import JournalFilter
from memory.models import JournalEntry
from memory.rules.permissions import Actor

LIMIT: Final = 20_000
COLUMNS: Final = (
    *("crew_id", "agent_id", "entry_type"),
    *("severity", "priority", "actor_type"),
)
# The time of an entry in UTC, cut to the minute; to the hour where the entries span
# more than a day: the bars of such a span are hours wide or more (histogram.STEPS).
CUT_TIMES: Final = {
    "sqlite": (
        "substr(ts, 1, (SELECT CASE WHEN datetime(min(ts), '+1 day') < max(ts)"
        " THEN 13 ELSE 16 END FROM newest))"
    ),
    "postgresql": (
        "to_char(ts AT TIME ZONE 'UTC', (SELECT CASE WHEN"
        " min(ts) + interval '1 day' < max(ts) THEN 'YYYY-MM-DD HH24'"
        " ELSE 'YYYY-MM-DD HH24:MI' END FROM newest))"
    ),
}


@dataclass(frozen=True, slots=True)
class Facets:
    """Counts of the newest matching entries; with ``is_capped`` there are older ones.

    ``counts`` is column → value → entries, the most frequent value first; entries
    without a value are not counted.
    """

    entries: int
    is_capped: bool
    counts: dict[str, dict[str, int]]
    bars: list[Bar]


def _groups(rows: QuerySet[JournalEntry]) -> list[tuple[str, str, str, int]]:
    """Return column, value, severity and entries; the column of times is ``ts``."""
    newest = rows.order_by("-ts", "-seq").values_list("ts", *COLUMNS)[:LIMIT]
    try:
        sql, params = newest.query.sql_with_params()
    except EmptyResultSet:
        return []
    by_column = (
        f"SELECT '{name}', {name}, '', count(*) FROM newest"  # noqa: S608  (our names)
        f" WHERE {name} IS NOT NULL GROUP BY {name}"
        for name in COLUMNS
    )
    by_time = (
        f"SELECT 'ts', {CUT_TIMES[connection.vendor]}, severity, count(*)"  # noqa: S608
        " FROM newest GROUP BY 2, 3"
    )
    counting = " UNION ALL ".join([*by_column, by_time])
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH newest(ts, {', '.join(COLUMNS)}) AS MATERIALIZED ({sql}) {counting}",
            params,
        )
        groups: list[tuple[str, str, str, int]] = cursor.fetchall()
    return groups


def facets(actor: Actor, filters: JournalFilter) -> Facets:
    """Count the entries that match."""
    rows = queries.filtered(actor, filters)
    by_column: dict[str, dict[str, int]] = defaultdict(dict)
    moments: dict[tuple[datetime, str], int] = {}
    for name, value, severity, number in _groups(rows):
        if name == "ts":
            moment = datetime.fromisoformat(value).replace(tzinfo=UTC)
            moments[moment, severity] = number
        else:
            by_column[name][value] = number
    entries = sum(moments.values())
    is_capped = entries == LIMIT and rows.order_by()[: LIMIT + 1].count() > LIMIT
    counts: dict[str, dict[str, int]] = {}
    for name in COLUMNS if entries else ():
        by_value = sorted(by_column[name].items(), key=lambda i: (-i[1], i[0]))
        counts[name] = dict(by_value)
    return Facets(entries, is_capped, counts, histogram(moments))

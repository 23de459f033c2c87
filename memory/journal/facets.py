"""What the entries that match a filter have in common: counts by column, and over time.

Both are of the newest LIMIT matching entries: one bounded read, whatever the journal's
length.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from memory.journal import queries
from memory.journal.histogram import Bar, histogram
from memory.journal.queries import JournalFilter
from memory.rules.permissions import Actor

LIMIT: Final = 20_000
COLUMNS: Final = (
    *("crew_id", "agent_id", "entry_type"),
    *("severity", "priority", "actor_type"),
)


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


def facets(actor: Actor, filters: JournalFilter) -> Facets:
    """Count the entries that match."""
    rows = queries.filtered(actor, filters).order_by("-ts", "-seq")
    values = list(rows.values_list("ts", *COLUMNS)[: LIMIT + 1])
    is_capped = len(values) > LIMIT
    del values[LIMIT:]
    if not values:
        return Facets(0, is_capped=False, counts={}, bars=[])
    moments, *columns = zip(*values, strict=True)
    counts = {}
    for name, column in zip(COLUMNS, columns, strict=True):
        by_value = Counter(column)
        del by_value[None]
        counts[name] = dict(sorted(by_value.items(), key=lambda i: (-i[1], i[0])))
    severities = columns[COLUMNS.index("severity")]
    bars = histogram(zip(moments, severities, strict=True))
    return Facets(len(values), is_capped, counts, bars)

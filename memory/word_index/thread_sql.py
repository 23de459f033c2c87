"""The threads of ``threads``, asked of PostgreSQL: who is beside an entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from django.db import connection

from memory.word_index import threads

# As many as a window reaches back, which is further than it reaches on.
SIDE: Final = threads.BEFORE
_SILENCE: Final = timedelta(microseconds=threads.SILENCE)
_SPEAKS: Final = (
    "{e}.embeddable AND {e}.retired_at IS NULL AND {e}.restricted_at IS NULL"
    " AND {e}.erased_at IS NULL"
)
_TRACE: Final = "d.trace_id IS NOT NULL AND e.trace_id = d.trace_id"
_AGENT: Final = (
    "d.trace_id IS NULL AND e.trace_id IS NULL AND e.agent_id = d.agent_id"
    " AND e.crew_id IS NOT DISTINCT FROM d.crew_id"
)


def _side_sql(thread: str, sign: str, order: str) -> str:
    """Return the query of the entries on one side, as each thread's rule finds them."""
    return (
        f"SELECT d.docid, d.ts, '{sign}', d.trace_id IS NULL, n.docid, n.ts"  # noqa: S608
        " FROM journal_entries d CROSS JOIN LATERAL ("
        "  SELECT e.docid, e.ts FROM journal_entries e"
        f" WHERE e.workspace_id = d.workspace_id AND {thread}"
        f" AND {_SPEAKS.format(e='e')} AND (e.ts, e.seq) {sign} (d.ts, d.seq)"
        f" ORDER BY e.ts {order}, e.seq {order} LIMIT {SIDE}) n"
        f" WHERE d.docid = ANY(%s) AND {_SPEAKS.format(e='d')}"
    )


_SQL: Final = " UNION ALL ".join(
    _side_sql(thread, sign, order)
    for thread in (_TRACE, _AGENT)
    for sign, order in (("<", "DESC"), (">", "ASC"))
)


@dataclass(slots=True)
class Links:
    """The docids before and after an entry in its thread, the nearest first."""

    before: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)

    @property
    def nearest(self) -> tuple[int | None, int | None]:
        """The entries directly before and after."""
        before, after = (
            side[0] if side else None for side in (self.before, self.after)
        )
        return before, after

    @property
    def window(self) -> list[int]:
        """The others in the entry's window."""
        return self.before[: threads.BEFORE] + self.after[: threads.AFTER]


def neighbours(docids: Sequence[int]) -> dict[int, Links]:
    """Return the neighbours of each named entry, at most ``SIDE`` on each side."""
    links = {docid: Links() for docid in docids}
    if not docids:
        return links
    with connection.cursor() as cursor:
        cursor.execute(_SQL, [list(docids)] * 4)
        rows = cursor.fetchall()
    sides: dict[tuple[int, str], list[tuple[datetime, int]]] = {}
    start: dict[tuple[int, str], tuple[datetime, bool]] = {}
    for docid, ts, sign, is_timed, other, other_ts in rows:
        sides.setdefault((docid, sign), []).append((other_ts, other))
        start[docid, sign] = ts, is_timed
    for (docid, sign), pairs in sides.items():
        moment, is_timed = start[docid, sign]
        side = links[docid].before if sign == "<" else links[docid].after
        for ts, other in sorted(pairs, reverse=sign == "<"):
            if is_timed and abs(ts - moment) > _SILENCE:
                break
            side.append(other)
            moment = ts
    return links

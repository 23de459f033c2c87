"""The neighbours of entries in their threads, from the table of words.

What is asked of an entry is as far on each side as the windows reach that hold it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from memory.word_index import pg_read, texts
from memory.word_index.columns import TIMED
from memory.word_index.pg_rows import Numbers, Rows
from memory.word_index.pg_table import SPEAKS_SQL
from memory.word_index.texts import Links
from memory.word_index.threads import AFTER, BEFORE, SILENCE

# An entry is in windows of others up to three on, which reach two further.
REACH: Final = BEFORE + AFTER


def _side(sign: str, order: str) -> str:
    """Return the query of the entries on one side of some, the nearest first."""
    nearest = f"ORDER BY n.ts {order}, n.docid {order}"
    return (
        f"SELECT d.place, {sign}1 AS side, n.docid, n.ts,"  # noqa: S608
        f" row_number() OVER (PARTITION BY d.place {nearest})"
        " FROM unnest(%s::int[], %s::bigint[], %s::bigint[], %s::bigint[])"
        " AS d(place, docid, ts, thread) CROSS JOIN LATERAL ("
        "  SELECT w.docid, w.ts FROM journal_words w"
        f" WHERE w.workspace_id = %s AND w.thread = d.thread AND {SPEAKS_SQL}"
        f" AND (w.ts, w.docid) {'<' if sign == '-' else '>'} (d.ts, d.docid)"
        f" ORDER BY w.ts {order}, w.docid {order} LIMIT {REACH}) n"
    )


_SQL: Final = (
    "SELECT string_agg(int8send(place::bigint), ''),"  # noqa: S608
    " string_agg(int8send(side::bigint), ''), string_agg(int8send(docid), ''),"
    " string_agg(int8send(ts), '')"
    f" FROM (SELECT * FROM ({_side('-', 'DESC')} UNION ALL {_side('+', 'ASC')}) sides"
    " ORDER BY place, side, row_number) ordered"
)


@dataclass(slots=True)
class Threads:
    """Who is before and after an entry, as far as it was asked for."""

    workspace_id: str
    before: dict[int, int] = field(default_factory=dict)
    after: dict[int, int] = field(default_factory=dict)
    _read: set[int] = field(default_factory=set)

    def read(self, rows: Rows) -> None:
        """Read the neighbours of rows that take part in a thread."""
        is_new = ~np.isin(
            rows.docid, np.fromiter(self._read, np.int64, len(self._read))
        )
        at = np.flatnonzero(rows.speaks & is_new)
        self._read.update(rows.docid[at].tolist())
        if not len(at):
            return
        docid, ts, thread = rows.docid[at], rows.ts[at], rows.thread[at]
        entries = (range(len(at)), docid.tolist(), ts.tolist(), thread.tolist())
        params = [*map(pg_read.array, entries), self.workspace_id] * 2
        place, side, other, other_ts = (
            np.frombuffer(bytes(column or b""), dtype=">i8").astype(np.int64)
            for column in pg_read.fetch(_SQL, params)[0]
        )
        if not len(place):
            return
        is_first = np.ones(len(place), dtype=np.bool_)
        is_first[1:] = (place[1:] != place[:-1]) | (side[1:] != side[:-1])
        nearer = np.where(is_first, docid[place], np.roll(other, 1))
        nearer_ts = np.where(is_first, ts[place], np.roll(other_ts, 1))
        is_timed = (rows.flags[at][place] & TIMED) != 0
        linked = ~is_timed | (np.abs(other_ts - nearer_ts) <= SILENCE)
        earlier, later = linked & (side < 0), linked & (side > 0)
        self._link(other[earlier], nearer[earlier])
        self._link(nearer[later], other[later])

    def _link(self, first: Numbers, second: Numbers) -> None:
        pairs = list(zip(first.tolist(), second.tolist(), strict=True))
        self.after.update(pairs)
        self.before.update((later, earlier) for earlier, later in pairs)

    def around(self, docids: Numbers, before: int, after: int) -> Numbers:
        """Return docids with those so many steps before and after them."""
        parts = [docids]
        for links, steps in ((self.before, before), (self.after, after)):
            step = docids.tolist()
            for _ in range(steps):
                step = [links[docid] for docid in step if docid in links]
                parts.append(np.array(step, dtype=np.int64))
        return np.unique(np.concatenate(parts))

    def window_counts(self, rows: Rows) -> Numbers:
        """Return how often the windows of rows hold each term, within the scope.

        Right for those around which everything was read.
        """
        docids = rows.docid.tolist()
        sides = [
            rows.places([links.get(docid, -1) for docid in docids])
            for links in (self.before, self.after)
        ]
        counts = rows.counts * rows.inside[:, None]
        return texts.window_counts(counts, Links(*sides))

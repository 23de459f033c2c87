"""The neighbours of entries in their threads, from the table of words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from memory.word_index import pg_read, texts
from memory.word_index.columns import TIMED
from memory.word_index.pg_rows import Numbers, Rows
from memory.word_index.pg_table import SPEAKS_SQL
from memory.word_index.texts import Links
from memory.word_index.threads import AFTER, BEFORE, SILENCE

# Of an entry that is read, those in whose windows it is are known as well, up to three
# on, with the windows of the ones directly beside them.
REACH: Final = BEFORE + AFTER + 1


def _side(sign: str, order: str) -> str:
    """Return the query of the entries on one side of ``d``, the nearest ones."""
    return (
        f"(SELECT {sign}1 AS side, w.docid, w.ts FROM journal_words w"  # noqa: S608
        f" WHERE w.workspace_id = %s AND w.thread = d.thread AND {SPEAKS_SQL}"
        f" AND (w.ts, w.docid) {'<' if sign == '-' else '>'} (d.ts, d.docid)"
        f" ORDER BY w.ts {order}, w.docid {order} LIMIT {REACH})"
    )


_SQL: Final = (
    "SELECT string_agg(int8send(d.docid) || int8send(n.side)"  # noqa: S608
    " || int8send(n.docid) || int8send(n.ts), '')"
    " FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[]) AS d(docid, ts, thread)"
    f" CROSS JOIN LATERAL ({_side('-', 'DESC')} UNION ALL {_side('+', 'ASC')}) n"
)


@dataclass(slots=True)
class Threads:
    """Who is before and after an entry, as far as it was asked for."""

    workspace_id: str
    before: dict[int, int] = field(default_factory=dict)
    after: dict[int, int] = field(default_factory=dict)
    _known: set[int] = field(default_factory=set)

    def read(self, rows: Rows) -> None:
        """Read the neighbours of rows that take part in a thread."""
        docids, rows = rows.docid, rows.subset(rows.speaks)
        self._known.update(docids.tolist())
        if not len(rows):
            return
        entries = (rows.docid.tolist(), rows.ts.tolist(), rows.thread.tolist())
        params = [*map(pg_read.array, entries), *[self.workspace_id] * 2]
        sent = bytes(pg_read.fetch(_SQL, params)[0][0] or b"")
        table = np.frombuffer(sent, dtype=">i8").astype(np.int64).reshape(-1, 4)
        # Of each row first one side, then the other, the nearest first.
        docid, side, other, other_ts = table.T
        order = np.lexsort((side * other, side * other_ts, side, docid))
        docid, side, other, other_ts = table[order].T
        is_first = np.ones(len(order), dtype=np.bool_)
        is_first[1:] = (docid[1:] != docid[:-1]) | (side[1:] != side[:-1])
        place = rows.places(docid)
        nearer = np.where(is_first, docid, np.roll(other, 1))
        nearer_ts = np.where(is_first, rows.ts[place], np.roll(other_ts, 1))
        is_timed = (rows.flags[place] & TIMED) != 0
        linked = ~is_timed | (np.abs(other_ts - nearer_ts) <= SILENCE)
        earlier, later = linked & (side < 0), linked & (side > 0)
        self._link(other[earlier], nearer[earlier])
        self._link(nearer[later], other[later])
        self._known.update(self.around(rows.docid, AFTER, BEFORE).tolist())

    def unknown(self, docids: Numbers) -> Numbers:
        """Return those of some entries around which not everything was read."""
        return np.array([d for d in docids.tolist() if d not in self._known], np.int64)

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

    def window_counts(self, rows: Rows, of: Numbers) -> Numbers:
        """Return how often the windows of some rows hold each term, within the scope.

        Right for those around which everything was read.
        """
        sides = [_places(rows, links) for links in (self.before, self.after)]
        counts = rows.counts * rows.inside[:, None]
        return texts.window_counts(counts, Links(*sides), of)


def _places(rows: Rows, links: Mapping[int, int]) -> Numbers:
    """Return where the row is that each row is linked to, −1 for none."""
    size, places = len(links), np.full(len(rows), -1)
    at = rows.places(np.fromiter(links.keys(), np.int64, size))
    targets = rows.places(np.fromiter(links.values(), np.int64, size))
    places[at[at >= 0]] = targets[at >= 0]
    return places

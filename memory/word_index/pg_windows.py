"""The neighbours of entries in their threads, from the table of words."""

from __future__ import annotations

from typing import Final

import numpy as np

from memory.word_index import pg_read, texts
from memory.word_index.columns import TIMED
from memory.word_index.pg_rows import Numbers, Rows
from memory.word_index.pg_table import SPEAKS_SQL
from memory.word_index.texts import Links
from memory.word_index.threads import AFTER, BEFORE, SILENCE

# An entry is in windows of others up to three on. Their windows, and those of the ones
# directly beside them, reach no further than this from it.
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


class _Links:
    """The entry directly beside each of some, on one side."""

    def __init__(self) -> None:
        self.docids = self.targets = np.zeros(0, dtype=np.int64)

    def add(self, docids: Numbers, targets: Numbers) -> None:
        """Add links; several of one entry are the same."""
        docids = np.concatenate((self.docids, docids))
        targets = np.concatenate((self.targets, targets))
        self.docids, first = np.unique(docids, return_index=True)
        self.targets = targets[first]

    def of(self, docids: Numbers) -> Numbers:
        """Return what is beside each, −1 for nothing."""
        if not len(self.docids):
            return np.full(len(docids), -1)
        at = np.minimum(np.searchsorted(self.docids, docids), len(self.docids) - 1)
        return np.where(self.docids[at] == docids, self.targets[at], -1)

    def places(self, rows: Rows) -> Numbers:
        """Return where among the rows that is which is beside each, −1 for nowhere."""
        places, at = np.full(len(rows), -1), rows.places(self.docids)
        is_there = at >= 0
        places[at[is_there]] = rows.places(self.targets[is_there])
        return places


class Threads:
    """Who is before and after an entry, as far as it was asked for."""

    def __init__(self, workspace_id: str) -> None:
        self._workspace_id = workspace_id
        self.before, self.after = _Links(), _Links()
        self._read = self._known = np.zeros(0, dtype=np.int64)

    def read(self, rows: Rows) -> None:
        """Read the neighbours of rows that take part in a thread."""
        docids, rows = rows.docid, rows.subset(rows.speaks)
        if len(rows):
            self._read_sides(rows)
        self._read = np.union1d(self._read, docids)
        covered = self.around(docids, AFTER, BEFORE)
        self._known = np.union1d(self._known, covered)

    def _read_sides(self, rows: Rows) -> None:
        entries = (rows.docid.tolist(), rows.ts.tolist(), rows.thread.tolist())
        params = [*map(pg_read.array, entries), *[self._workspace_id] * 2]
        data = bytes(pg_read.fetch(_SQL, params)[0][0] or b"")
        table = np.frombuffer(data, dtype=">i8").astype(np.int64).reshape(-1, 4)
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
        first = np.concatenate((other[earlier], nearer[later]))
        second = np.concatenate((nearer[earlier], other[later]))
        self.after.add(first, second)
        self.before.add(second, first)

    def unread(self, docids: Numbers) -> Numbers:
        """Return those of some entries that were not read."""
        return np.setdiff1d(docids, self._read)

    def unknown(self, docids: Numbers) -> Numbers:
        """Return those whose windows, or those beside them, may lack something."""
        return np.setdiff1d(docids, self._known)

    def around(self, docids: Numbers, before: int, after: int) -> Numbers:
        """Return docids with those so many steps before and after them."""
        parts = [docids]
        for links, steps in ((self.before, before), (self.after, after)):
            step = docids
            for _ in range(steps):
                step = links.of(step)
                step = step[step >= 0]
                parts.append(step)
        return np.unique(np.concatenate(parts))

    def window_counts(self, rows: Rows, of: Numbers) -> Numbers:
        """Return how often the windows of some rows hold each term, within the scope.

        Right for those around which everything was read.
        """
        links = Links(self.before.places(rows), self.after.places(rows))
        return texts.window_counts(rows.counts * rows.inside[:, None], links, of)

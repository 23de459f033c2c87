"""Which entry follows which: the threads of a workspace.

A thread is the entries of one trace. Without a trace it is the entries of one agent in
one crew, each within ``SILENCE`` of the one before. The order is by time, then by
docid; only entries that may be used and are embedded take part.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory.word_index.columns import SPEAKS, TIMED, Columns, Rows

# Microseconds.
SILENCE: Final = 30 * 60 * 1_000_000
# Entries of a window: one, those before it and those after it in its thread.
BEFORE: Final = 3
AFTER: Final = 2
WINDOW: Final = BEFORE + 1 + AFTER
MAX_RECENT: Final = 65_536


def key(trace_id: str | None, crew_id: str | None, agent_id: str | None) -> int:
    """Return the number of an entry's thread in this process, 0 for none."""
    if trace_id is not None:
        return hash(trace_id) or 1
    return (hash((crew_id, agent_id)) or 1) if agent_id is not None else 0


def link(
    columns: Columns, rows: Rows, *, from_tails: bool = False
) -> tuple[NDArray[np.int64], Rows]:
    """Link whole threads anew; return each thread's key and its last row.

    With ``from_tails`` the first row of a thread keeps what is before it.
    """
    thread = columns.thread[rows]
    order = np.lexsort((rows, columns.ts[rows], thread))
    rows, thread = rows[order], thread[order]
    is_next = thread[1:] == thread[:-1]
    is_timed = (columns.flags[rows[1:]] & TIMED) != 0
    is_near = ~is_timed | (np.diff(columns.ts[rows]) <= SILENCE)
    before = np.where(is_next & is_near, rows[:-1], -1)
    after = np.where(is_next & is_near, rows[1:], -1)
    previous, following = np.full(len(rows), -1), np.full(len(rows), -1)
    previous[1:], following[:-1] = before, after
    if from_tails and len(rows):
        is_first = np.concatenate([[True], ~is_next])
        previous[is_first] = columns.previous[rows[is_first]]
    # Each once, for those who read meanwhile.
    columns.previous[rows], columns.next[rows] = previous, following
    is_last = np.ones(len(rows), dtype=np.bool_)
    is_last[:-1] = ~is_next
    return thread[is_last], rows[is_last]


def speaking(columns: Columns, rows: Rows) -> Rows:
    """Return those rows that take part in a thread."""
    speaks = (columns.flags[rows] & SPEAKS) == SPEAKS
    result: Rows = rows[speaks & (columns.thread[rows] != 0)]
    return result


class Threads:
    """The last row of every thread, so that appending needs no search.

    Arrays for most of them, and a dictionary for those that grew since.
    """

    def __init__(self) -> None:
        self._keys = np.zeros(0, dtype=np.int64)
        self._rows = np.zeros(0, dtype=np.int32)
        self._recent: dict[int, int] = {}

    @property
    def nbytes(self) -> int:
        return self._keys.nbytes + self._rows.nbytes + 100 * len(self._recent)

    def relink(self, columns: Columns, size: int, keys: NDArray[np.int64]) -> None:
        """Link the named threads anew, after rows of them changed or came late."""
        keys = np.unique(keys[keys != 0])
        if not len(keys):
            return
        self._recent.update(dict.fromkeys(keys.tolist(), -1))
        rows = np.flatnonzero(np.isin(columns.thread[:size], keys))
        self._keep(*link(columns, speaking(columns, rows)))

    def link_all(self, columns: Columns, size: int) -> None:
        """Link every thread, after loading."""
        self._recent = {}
        keys, rows = link(columns, speaking(columns, np.arange(size)))
        self._keys, self._rows = keys, rows.astype(np.int32)

    def append(self, columns: Columns, start: int, end: int) -> None:
        """Link new rows behind the last ones of their threads."""
        rows = speaking(columns, np.arange(start, end))
        if not len(rows):
            return
        keys = np.unique(columns.thread[rows])
        tails = np.array([self._tail(k) for k in keys.tolist()], dtype=np.int64)
        first = np.full(len(keys), np.iinfo(np.int64).max)
        at = np.searchsorted(keys, columns.thread[rows])
        np.minimum.at(first, at, columns.ts[rows])
        is_late = (tails >= 0) & (columns.ts[tails] > first)
        if is_late.any():
            self.relink(columns, end, keys[is_late])
        tails = tails[(tails >= 0) & ~is_late]
        rows = rows[~is_late[at]]
        rows = np.concatenate([tails, rows])
        self._keep(*link(columns, rows, from_tails=True))

    def _tail(self, thread: int) -> int:
        row = self._recent.get(thread)
        if row is not None:
            return row
        at = int(np.searchsorted(self._keys, thread))
        is_known = at < len(self._keys) and self._keys[at] == thread
        return int(self._rows[at]) if is_known else -1

    def _keep(self, keys: NDArray[np.int64], rows: Rows) -> None:
        self._recent.update(zip(keys.tolist(), rows.tolist(), strict=True))
        if len(self._recent) > MAX_RECENT:
            # The recent ones come last, and the last of equal keys is kept.
            recent = np.array(list(self._recent.items()), dtype=np.int64)
            keys = np.concatenate([self._keys, recent[:, 0]])
            rows = np.concatenate([self._rows, recent[:, 1]])
            order = np.argsort(keys, kind="stable")
            keys, rows = keys[order], rows[order]
            is_last = np.append(keys[1:] != keys[:-1], True)
            self._keys, self._rows = keys[is_last], rows[is_last].astype(np.int32)
            self._recent = {}

"""One workspace's vectors as arrays that can grow and be erased while being searched.

Readers take a snapshot and never wait. Rows are only ever added behind a snapshot's
end; a changed vector is a new row and its old one is wiped; wiping zeroes the numbers
in place, so that an erased person's vector does not linger in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_GROW = 1.5
_MIN_CAPACITY = 256


@dataclass(frozen=True, slots=True)
class Row:
    """What the matrix keeps of one entry; ``ts`` is milliseconds since 1970."""

    entry_id: str
    crew_id: str | None
    agent_id: str | None
    entry_type: str
    ts: int
    importance: float


@dataclass(slots=True)
class Columns:
    """The arrays, all of one capacity; row i is one entry."""

    vectors: NDArray[np.float32]
    importance: NDArray[np.float32]
    ts: NDArray[np.int64]
    crew: NDArray[np.int32]
    agent: NDArray[np.int32]
    type: NDArray[np.int32]
    alive: NDArray[np.bool_]
    ids: NDArray[np.str_]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A consistent view: the first ``size`` rows of the columns."""

    columns: Columns
    size: int


class Codes:
    """Strings as small numbers, so that a filter is one comparison of integers."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def add(self, value: str | None) -> int:
        """Return a string's number, giving it one when it is new; None is −1."""
        if value is None:
            return -1
        return self._codes.setdefault(value, len(self._codes))

    def get(self, value: str) -> int:
        """Return a string's number, or −2, which matches nothing."""
        return self._codes.get(value, -2)

    def names(self) -> dict[int, str]:
        """Return number → string, to decode a row's numbers."""
        return {code: value for value, code in list(self._codes.items())}


def _empty(capacity: int, dim: int) -> Columns:
    return Columns(
        vectors=np.zeros((capacity, dim), dtype=np.float32),
        importance=np.zeros(capacity, dtype=np.float32),
        ts=np.zeros(capacity, dtype=np.int64),
        crew=np.full(capacity, -1, dtype=np.int32),
        agent=np.full(capacity, -1, dtype=np.int32),
        type=np.full(capacity, -1, dtype=np.int32),
        alive=np.zeros(capacity, dtype=np.bool_),
        ids=np.zeros(capacity, dtype="U32"),
    )


class Matrix:
    """The vectors of one workspace and one model. Mutations need the owner's lock."""

    def __init__(self, dim: int, capacity: int = _MIN_CAPACITY) -> None:
        self.dim = dim
        self.crews, self.agents, self.types = Codes(), Codes(), Codes()
        self._columns = _empty(max(_MIN_CAPACITY, capacity), dim)
        self._size = 0
        self._at: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._at)

    def snapshot(self) -> Snapshot:
        """Return the present rows; safe to read while the matrix changes."""
        return Snapshot(self._columns, self._size)

    def position(self, entry_id: str) -> int | None:
        """Return an entry's row, or None."""
        return self._at.get(entry_id)

    def put(self, rows: Sequence[Row], vectors: NDArray[np.float32]) -> None:
        """Add entries or replace them; ``vectors`` is (len(rows), dim)."""
        for row in rows:
            self.drop(row.entry_id)
        self._reserve(len(rows))
        start, end = self._size, self._size + len(rows)
        columns = self._columns
        columns.vectors[start:end] = vectors
        columns.importance[start:end] = [row.importance for row in rows]
        columns.ts[start:end] = [row.ts for row in rows]
        columns.crew[start:end] = [self.crews.add(row.crew_id) for row in rows]
        columns.agent[start:end] = [self.agents.add(row.agent_id) for row in rows]
        columns.type[start:end] = [self.types.add(row.entry_type) for row in rows]
        columns.ids[start:end] = [row.entry_id for row in rows]
        columns.alive[start:end] = True
        for offset, row in enumerate(rows):
            self._at[row.entry_id] = start + offset
        self._size = end

    def drop(self, entry_id: str) -> None:
        """Remove an entry and zero its numbers; unknown ids are ignored."""
        at = self._at.pop(entry_id, None)
        if at is None:
            return
        self._columns.alive[at] = False
        self._columns.vectors[at] = 0.0

    def _reserve(self, count: int) -> None:
        """Make room: compact when a quarter is dead, else grow."""
        capacity = len(self._columns.alive)
        if self._size + count <= capacity:
            return
        new_capacity = max(_MIN_CAPACITY, int((len(self._at) + count) * _GROW))
        fresh = _empty(new_capacity, self.dim)
        alive_rows = np.flatnonzero(self._columns.alive[: self._size])
        for name in Columns.__slots__:
            getattr(fresh, name)[: len(alive_rows)] = getattr(self._columns, name)[
                alive_rows
            ]
        self._columns, self._size = fresh, len(alive_rows)
        self._at = {str(fresh.ids[i]): i for i in range(len(alive_rows))}

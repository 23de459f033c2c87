"""One workspace's vectors as arrays that can grow and be erased while being searched.

Readers take a snapshot and never wait. Rows are only ever added behind a snapshot's
end; a changed vector is a new row and its old one is wiped; wiping zeroes the numbers
in place, so that an erased person's vector does not linger in memory. Only an
importance changes in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Final

import numpy as np
from numpy.typing import NDArray

from episodic.vectors import centre
from episodic.vectors.centre import Centre
from episodic.vectors.cosine import Floats, Rows
from episodic.vectors.quantised import EXACT_BYTES, QuantisedVectors, Question
from memory.word_index import entry_rows
from memory.word_index.columns import Codes
from memory.word_index.entry_rows import EntryRows, Ids
from memory.word_index.owners import NOBODY, OwnerRows

_GROW: Final = 1.5
_MIN_CAPACITY: Final = 16
# Wiped rows are left out of the arrays when they are so large a part of them.
_DEAD_SHARE: Final = 4
_MIN_DEAD: Final = 256
# The objects around the arrays.
_FIXED_BYTES: Final = 16_384
# What a row takes besides its vector, about.
ROW_BYTES: Final = 96


@dataclass(frozen=True, slots=True)
class Labels:
    """Strings as numbers of a list: the i-th is ``names[codes[i]]``, −1 is None."""

    names: Sequence[str]
    codes: NDArray[np.int32]

    @classmethod
    def of(cls, values: Sequence[str | None]) -> Labels:
        """Return some strings as labels."""
        names = list(dict.fromkeys(value for value in values if value is not None))
        numbers: dict[str | None, int] = {name: n for n, name in enumerate(names)}
        codes = [numbers.get(value, NOBODY) for value in values]
        return cls(names, np.array(codes, dtype=np.int32))

    def take(self, places: Rows) -> Labels:
        """Return some of the strings."""
        return Labels(self.names, self.codes[places])

    def numbers(self, codes: Codes) -> NDArray[np.int32]:
        """Return the number of each string among codes; new ones are given one."""
        numbers = np.full(len(self.names) + 1, NOBODY, dtype=np.int32)
        for place in np.unique(self.codes[self.codes != NOBODY]).tolist():
            numbers[place] = codes.add(self.names[place])
        # The last one stands for None, as −1 does.
        return numbers[self.codes]


@dataclass(frozen=True, slots=True)
class Batch:
    """Entries on their way into a matrix, column by column.

    ``ts`` is milliseconds since 1970, ``recorded`` microseconds.
    """

    ids: Ids
    crews: Labels
    agents: Labels
    types: Labels
    ts: NDArray[np.int64]
    recorded: NDArray[np.int64]
    importance: NDArray[np.float32]
    vectors: Floats

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, places: Rows) -> Batch:
        """Return some of the entries."""
        return Batch(
            self.ids[places],
            self.crews.take(places),
            self.agents.take(places),
            self.types.take(places),
            self.ts[places],
            self.recorded[places],
            self.importance[places],
            self.vectors[places],
        )


@dataclass(frozen=True, slots=True)
class Columns:
    """The arrays, all of one capacity; row i is one entry.

    ``owned`` keeps which rows a crew or an agent has.
    """

    vectors: QuantisedVectors
    importance: NDArray[np.float32]
    ts: NDArray[np.int64]
    recorded: NDArray[np.int64]
    crew: NDArray[np.int32]
    agent: NDArray[np.int32]
    type: NDArray[np.int32]
    alive: NDArray[np.bool_]
    ids: Ids
    owned: OwnerRows = field(default_factory=OwnerRows)


_PLAIN: Final = [f.name for f in fields(Columns) if f.name not in ("vectors", "owned")]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A consistent view: the first ``size`` rows of the columns, and their middle."""

    columns: Columns
    centre: Centre
    entry_rows: EntryRows
    size: int

    def find(self, ids: Ids) -> Rows:
        """Return the rows of ids, −1 for what is not in this view."""
        rows = self.entry_rows.find(ids, self.columns.ids, self.columns.alive)
        rows[rows >= self.size] = -1
        return rows

    def names(self, rows: Rows) -> list[str]:
        """Return the entry ids of rows."""
        return [name.decode() for name in self.columns.ids[rows].tolist()]


def keeps_exact(count: int, dim: int) -> bool:
    """Whether so many vectors are kept as they are beside their codes."""
    return count * dim * 4 <= EXACT_BYTES


def bytes_of(count: int, dim: int) -> int:
    """Return about how many bytes a matrix of so many vectors takes."""
    return count * (ROW_BYTES + (5 if keeps_exact(count, dim) else 1) * dim)


def _empty(capacity: int, dim: int, *, keep_exact: bool) -> Columns:
    return Columns(
        vectors=QuantisedVectors(capacity, dim, keep_exact=keep_exact),
        importance=np.zeros(capacity, dtype=np.float32),
        ts=np.zeros(capacity, dtype=np.int64),
        recorded=np.zeros(capacity, dtype=np.int64),
        crew=np.zeros(capacity, dtype=np.int32),
        agent=np.zeros(capacity, dtype=np.int32),
        type=np.zeros(capacity, dtype=np.int32),
        alive=np.zeros(capacity, dtype=np.bool_),
        ids=np.zeros(capacity, dtype=f"S{entry_rows.ID_BYTES}"),
    )


class Matrix:
    """The vectors of one workspace and one model. Mutations need the owner's lock."""

    def __init__(self, dim: int, count: int = 0) -> None:
        self.dim = dim
        self.crews, self.agents, self.types = Codes(), Codes(), Codes()
        self._columns = self._new_columns(count + count // 8, count)
        self._size = self._alive = 0
        self._rows = EntryRows()
        self._total = np.zeros(dim, dtype=np.float64)
        self._centre = Centre.empty(
            np.zeros(dim, dtype=np.float32), len(self._columns.alive)
        )

    def __len__(self) -> int:
        return self._alive

    @property
    def bytes_used(self) -> int:
        """How many bytes the rows take; room to grow was never written to."""
        columns = self._columns
        plain = sum(int(getattr(columns, name).itemsize) for name in _PLAIN)
        row = plain + columns.vectors.row_bytes + self._rows.row_bytes
        rows = self._size * (row + self._centre.row_bytes)
        return rows + columns.owned.nbytes + _FIXED_BYTES

    def snapshot(self) -> Snapshot:
        """Return the present rows; safe to read while the matrix changes."""
        return Snapshot(self._columns, self._centre, self._rows, self._size)

    def position(self, entry_id: str) -> int | None:
        """Return an entry's row, or None."""
        row = int(self.positions([entry_id])[0])
        return None if row < 0 else row

    def positions(self, entry_ids: Sequence[str]) -> Rows:
        """Return entries' rows, −1 for what is not here."""
        return self.snapshot().find(entry_rows.encode(entry_ids))

    # ── Changing ─────────────────────────────────────────────────────────────
    def fill(self, batches: Iterable[Batch]) -> None:
        """Add many entries, none of which is here yet."""
        for batch in batches:
            self._append(batch)
        self._put_in_order()
        self._follow_mean()

    def put(self, batch: Batch) -> None:
        """Add entries or replace them."""
        fresh = np.ones(len(batch), dtype=np.bool_)
        for number, row in enumerate(self.snapshot().find(batch.ids)):
            if row < 0:
                continue
            if self._is_same(int(row), batch, number):
                self._columns.importance[row] = batch.importance[number]
                fresh[number] = False
            else:
                self._wipe(int(row))
        start = self._append(batch if fresh.all() else batch.take(fresh.nonzero()[0]))
        self._rows.add(self._columns.ids[start : self._size], range(start, self._size))
        if self._rows.is_full:
            self._put_in_order()
        self._follow_mean()

    def drop(self, entry_ids: Sequence[str]) -> None:
        """Remove entries and zero their numbers; unknown ids are ignored."""
        for row in self.positions(entry_ids):
            if row >= 0:
                self._wipe(int(row))
        self._follow_mean()

    def _append(self, batch: Batch) -> int:
        """Write entries behind the last row; return the first of them."""
        self._reserve(len(batch))
        start, end = self._size, self._size + len(batch)
        columns = self._columns
        columns.vectors.write(start, batch.vectors)
        columns.importance[start:end] = batch.importance
        columns.ts[start:end] = batch.ts
        columns.recorded[start:end] = batch.recorded
        columns.crew[start:end] = batch.crews.numbers(self.crews)
        columns.agent[start:end] = batch.agents.numbers(self.agents)
        columns.type[start:end] = batch.types.numbers(self.types)
        columns.ids[start:end] = batch.ids
        columns.alive[start:end] = True
        if not self._centre.is_zero:
            along = batch.vectors @ self._centre.mean
            self._centre.write(slice(start, end), along)
        self._total += columns.vectors.total(start, end)
        self._size, self._alive = end, self._alive + len(batch)
        return start

    def _is_same(self, row: int, batch: Batch, number: int) -> bool:
        """Whether a row differs from an entry in nothing but its importance."""
        columns, place = self._columns, np.array([number])
        return bool(
            columns.ts[row] == batch.ts[number]
            and columns.crew[row] == batch.crews.take(place).numbers(self.crews)[0]
            and columns.agent[row] == batch.agents.take(place).numbers(self.agents)[0]
            and columns.type[row] == batch.types.take(place).numbers(self.types)[0]
            and columns.vectors.is_same(row, batch.vectors[number])
        )

    def _wipe(self, row: int) -> None:
        columns = self._columns
        columns.alive[row] = False
        self._total -= columns.vectors.total(row, row + 1)
        columns.vectors.wipe(row)
        self._centre.wipe(row)
        self._rows.forget(bytes(columns.ids[row]))
        self._alive -= 1

    # ── Room ─────────────────────────────────────────────────────────────────
    def _new_columns(self, capacity: int, count: int) -> Columns:
        keep_exact = keeps_exact(count, self.dim)
        return _empty(max(_MIN_CAPACITY, capacity), self.dim, keep_exact=keep_exact)

    def _reserve(self, count: int) -> None:
        """Make room for more rows: leave the wiped ones out, and grow."""
        capacity, dead = len(self._columns.alive), self._size - self._alive
        is_scattered = dead > max(_MIN_DEAD, self._size // _DEAD_SHARE)
        if self._size + count <= capacity and not is_scattered:
            return
        capacity_needed = self._alive + count
        fresh = self._new_columns(int(capacity_needed * _GROW), capacity_needed)
        if self._columns.vectors.exact is None:
            # What was never kept cannot be taken over: it stays in the database.
            fresh.vectors.exact = None
        alive_rows = np.flatnonzero(self._columns.alive[: self._size])
        fresh.vectors.copy_rows(self._columns.vectors, alive_rows)
        for name in _PLAIN:
            old = getattr(self._columns, name)
            getattr(fresh, name)[: len(alive_rows)] = old[alive_rows]
        fresh_centre = Centre.empty(self._centre.mean, len(fresh.alive))
        fresh_centre.write(slice(len(alive_rows)), self._centre.along[alive_rows])
        self._centre = fresh_centre
        self._columns, self._size = fresh, len(alive_rows)
        # Views of the old rows keep the old numbers.
        self._rows = EntryRows()
        self._put_in_order()

    def _put_in_order(self) -> None:
        columns = self._columns
        self._rows.rebuild(columns.ids, np.flatnonzero(columns.alive[: self._size]))

    # ── Middle ───────────────────────────────────────────────────────────────
    def _follow_mean(self) -> None:
        """Measure from the present mean when the one in use is too far from it."""
        mean = np.zeros(self.dim, dtype=np.float32)
        if self._alive >= centre.FEWEST:
            mean = (self._total / self._alive).astype(np.float32)
        distance = float(np.linalg.norm(mean - self._centre.mean))
        is_switch = self._centre.is_zero == bool(mean.any())
        if distance <= centre.DRIFT and not is_switch:
            return
        fresh = Centre.empty(mean, len(self._columns.alive))
        if mean.any():
            question = Question.of(mean)
            products, _ = self._columns.vectors.cosines(question, None, self._size)
            fresh.write(slice(self._size), products)
        self._centre = fresh

"""What the index keeps of each entry besides its words, as arrays that can grow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory.word_index.entry_rows import ID_BYTES
from memory.word_index.terms import WordLists

# An entry that may be used, and one that is embedded; both speak in a thread.
USABLE: Final = 1
EMBEDDABLE: Final = 2
SPEAKS: Final = USABLE | EMBEDDABLE
# Its thread is its agent's, which a long silence ends.
TIMED: Final = 4
# Its summary ends with a question.
ASKS: Final = 8
MIN_CAPACITY: Final = 256
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(slots=True)
class Columns:
    """The arrays, all of one capacity, by docid; times are microseconds since 1970.

    ``thread`` is 0 for none; ``previous`` and ``next`` are rows of it, −1 for none.
    """

    docid: NDArray[np.int64]
    ts: NDArray[np.int64]
    recorded: NDArray[np.int64]
    thread: NDArray[np.int64]
    crew: NDArray[np.int32]
    agent: NDArray[np.int32]
    type: NDArray[np.int32]
    previous: NDArray[np.int32]
    next: NDArray[np.int32]
    length: NDArray[np.uint16]
    flags: NDArray[np.uint8]
    ids: NDArray[np.bytes_]

    @property
    def nbytes(self) -> int:
        return sum(getattr(self, field.name).nbytes for field in fields(self))

    def copy(self, size: int, capacity: int) -> Columns:
        """Return a copy of the first ``size`` rows with room for more."""
        fresh = empty(capacity)
        for field in fields(self):
            getattr(fresh, field.name)[:size] = getattr(self, field.name)[:size]
        return fresh


def empty(capacity: int) -> Columns:
    capacity = max(MIN_CAPACITY, capacity)
    return Columns(
        docid=np.zeros(capacity, dtype=np.int64),
        ts=np.zeros(capacity, dtype=np.int64),
        recorded=np.zeros(capacity, dtype=np.int64),
        thread=np.zeros(capacity, dtype=np.int64),
        crew=np.full(capacity, -1, dtype=np.int32),
        agent=np.full(capacity, -1, dtype=np.int32),
        type=np.full(capacity, -1, dtype=np.int32),
        previous=np.full(capacity, -1, dtype=np.int32),
        next=np.full(capacity, -1, dtype=np.int32),
        length=np.zeros(capacity, dtype=np.uint16),
        flags=np.zeros(capacity, dtype=np.uint8),
        ids=np.zeros(capacity, dtype=f"S{ID_BYTES}"),
    )


@dataclass(frozen=True, slots=True)
class Batch:
    """Entries as they are read, by docid."""

    docid: NDArray[np.int64]
    ids: NDArray[np.bytes_]
    ts: NDArray[np.int64]
    recorded: NDArray[np.int64]
    thread: NDArray[np.int64]
    flags: NDArray[np.uint8]
    crews: Sequence[str | None]
    agents: Sequence[str | None]
    types: Sequence[str]
    words: WordLists


def joined(parts: Sequence[Batch]) -> Batch:
    """Return several batches as one."""
    words = [part.words for part in parts]
    return Batch(
        docid=np.concatenate([part.docid for part in parts]),
        ids=np.concatenate([part.ids for part in parts]),
        ts=np.concatenate([part.ts for part in parts]),
        recorded=np.concatenate([part.recorded for part in parts]),
        thread=np.concatenate([part.thread for part in parts]),
        flags=np.concatenate([part.flags for part in parts]),
        crews=list(chain.from_iterable(part.crews for part in parts)),
        agents=list(chain.from_iterable(part.agents for part in parts)),
        types=list(chain.from_iterable(part.types for part in parts)),
        words=WordLists(
            terms=np.concatenate([part.terms for part in words]),
            counts=np.concatenate([part.counts for part in words]),
            sizes=np.concatenate([part.sizes for part in words]),
            lengths=np.concatenate([part.lengths for part in words]),
        ),
    )


class Codes:
    """Strings as small numbers, so that a filter is one comparison of integers."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def add(self, value: str | None) -> int:
        """Return a string's number, giving it one when it is new; None is −1."""
        if value is None:
            return -1
        return self._codes.setdefault(value, len(self._codes))

    def add_all(self, values: Sequence[str | None]) -> list[int]:
        """Return the number of each string."""
        numbers = {value: self.add(value) for value in set(values)}
        return list(map(numbers.__getitem__, values))

    def get(self, value: str) -> int:
        """Return a string's number, or −2, which matches nothing."""
        return self._codes.get(value, -2)

    def names(self) -> dict[int, str]:
        """Return number → string, in the order of the numbers."""
        return {code: value for value, code in list(self._codes.items())}

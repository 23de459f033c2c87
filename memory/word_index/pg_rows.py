"""Rows of the table of words as arrays, with the counts of a question's terms.

A batch of rows comes as one row of concatenated columns: making objects of thousands of
values would take longer than finding them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memory.fulltext import WordScope
from memory.word_index import pg_read, pg_scope, terms
from memory.word_index.columns import EMBEDDABLE, SPEAKS, USABLE, Mask
from memory.word_index.pg_table import FROM_JOURNAL
from memory.word_index.rows import read_words

Numbers = NDArray[np.int64]
# The last number is three: 32 bits of how long the words are, one of whether the row is
# in scope, and the flags.
_NUMBERS: Final = (
    "docid",
    "ts",
    "coalesce(thread, 0)",
    "(flags::bigint * 2 + inside) << 32 | octet_length(words)",
)
_NUMBERS_SQL: Final = " || ".join(f"int8send({number})" for number in _NUMBERS)
# Fewer aggregates: each costs the server as much as finding the row again.
_CONCATENATED: Final = f"string_agg({_NUMBERS_SQL}, ''), string_agg(words, '')"
_LENGTH: Final = (1 << 32) - 1
# What a batch is read from, with the condition of the scope as a column.
_FLAGS: Final = (
    f"flags + CASE WHEN usable THEN {USABLE} ELSE 0 END"
    f" + CASE WHEN embeddable THEN {EMBEDDABLE} ELSE 0 END"
)
SELECTED: Final = f"docid, ts, thread, {_FLAGS} AS flags, words"
_FROM_WORDS: Final = (
    "journal_words w WHERE w.workspace_id = %s AND w.docid = ANY(%s::bigint[])"
)
_FROM_JOURNAL: Final = (
    f"(SELECT {FROM_JOURNAL}, ''::bytea AS words FROM journal_entries e"  # noqa: S608
    " WHERE e.workspace_id = %s AND e.docid = ANY(%s::bigint[])) w"
)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows in order of their docids; times in microseconds since 1970.

    ``inside`` says which are in the question's scope, ``counts`` how often each holds
    each of its terms.
    """

    docid: Numbers
    ts: Numbers
    thread: Numbers
    flags: Numbers
    inside: Mask
    counts: Numbers
    length: Numbers
    blobs: NDArray[np.object_]

    def __len__(self) -> int:
        return len(self.docid)

    @property
    def speaks(self) -> Mask:
        mask: Mask = ((self.flags & SPEAKS) == SPEAKS) & (self.thread != 0)
        return mask

    @classmethod
    def empty(cls, term_count: int) -> Rows:
        none = np.zeros(0, dtype=np.int64)
        counts = np.zeros((0, term_count), dtype=np.int64)
        blobs = np.zeros(0, dtype=object)
        inside = np.zeros(0, np.bool_)
        return cls(none, none, none, none, inside, counts, none, blobs)

    def subset(self, places: Numbers | Mask) -> Rows:
        """Return some of the rows."""
        return Rows(*(getattr(self, field.name)[places] for field in fields(self)))

    def places(self, docids: Sequence[int] | Numbers) -> Numbers:
        """Return the places of docids, −1 for one that is not there."""
        targets = np.asarray(docids, dtype=np.int64)
        if not len(self):
            return np.full(len(targets), -1)
        at = np.minimum(np.searchsorted(self.docid, targets), len(self) - 1)
        return np.where(self.docid[at] == targets, at, -1)

    def union(self, other: Rows) -> Rows:
        """Return the rows of both, each once."""
        columns = [
            np.concatenate([getattr(part, field.name) for part in (self, other)])
            for field in fields(self)
        ]
        _, order = np.unique(columns[0], return_index=True)
        return Rows(*(column[order] for column in columns))


def _unpacked(row: Sequence[Any], numbers: NDArray[np.uint32]) -> Rows:
    """Return the rows of concatenated columns, each docid once."""
    numbers_data, data = (bytes(column or b"") for column in row)
    table = np.frombuffer(numbers_data, dtype=">i8").astype(np.int64).reshape(-1, 4)
    ends = np.cumsum(table[:, 3] & _LENGTH)
    docid, order = np.unique(table[:, 0], return_index=True)
    _, ts, thread, packed = table[order].T
    ends, sizes = ends[order].tolist(), (packed & _LENGTH).tolist()
    blobs = [data[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    blobs = _readable(docid.tolist(), blobs)
    counts, length = terms.counts_of(blobs, numbers)
    objects = np.empty(len(blobs), dtype=object)
    objects[:] = blobs
    flags, inside = packed >> 33, (packed >> 32 & 1) != 0
    return Rows(docid, ts, thread, flags, inside, counts, length, objects)


def _readable(docids: Sequence[int], blobs: list[bytes]) -> list[bytes]:
    """Return the words of entries; those that are not stored are computed."""
    if terms.all_readable(blobs):
        return blobs
    pairs = list(zip(docids, blobs, strict=True))
    computed = read_words([d for d, blob in pairs if not terms.is_readable(blob)])
    no_words = terms.words_of("", "")
    return [
        blob if terms.is_readable(blob) else computed.get(docid, no_words)
        for docid, blob in pairs
    ]


def select(source: str, params: Sequence[Any], numbers: NDArray[np.uint32]) -> Rows:
    """Return the rows of a subquery of ``SELECTED`` and ``inside``."""
    sql = f"SELECT {_CONCATENATED} FROM ({source}) AS batch"  # noqa: S608  (ours)
    return _unpacked(pg_read.fetch(sql, params)[0], numbers)


def load(scope: WordScope, docids: Sequence[int], numbers: NDArray[np.uint32]) -> Rows:
    """Return named rows; those that have no words yet are read from the journal."""
    stored = _load(_FROM_WORDS, scope, docids, numbers)
    rest = [d for d, at in zip(docids, stored.places(docids), strict=True) if at < 0]
    return stored.union(_load(_FROM_JOURNAL, scope, rest, numbers)) if rest else stored


def _load(
    source: str, scope: WordScope, docids: Sequence[int], numbers: NDArray[np.uint32]
) -> Rows:
    where, params = pg_scope.of_words(scope)
    sql = f"SELECT {SELECTED}, (({where}) IS TRUE)::int AS inside FROM {source}"  # noqa: S608
    array = pg_read.array(docids)
    return select(sql, [*params, scope.workspace_id, array], numbers)

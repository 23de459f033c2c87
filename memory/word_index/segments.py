"""Postings of a contiguous range of rows, as arrays.

A segment never changes: what is appended becomes a small segment, small neighbours are
merged as they accumulate, and a row whose text changed is in a new copy. Five bytes are
what a posting could cost; as rows are counted inside the segment it is three.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

# A row of a segment fits in 16 bits.
MAX_ROWS: Final = 65_536
# Frequencies of this many terms are remembered by each segment.
MAX_KNOWN: Final = 2_048
_ROW_SHIFT: Final = np.uint64(8)
_TERM_SHIFT: Final = np.uint64(24)
_ROW_MASK: Final = np.uint64(0xFFFF)
_COUNT_MASK: Final = np.uint64(0xFF)
Keys = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Segment:
    """The postings of ``size`` rows from ``first`` on.

    Those of ``terms[i]`` are ``rows`` and ``counts`` from ``starts[i]`` to
    ``starts[i + 1]``, by row. ``frequencies`` is the owner's cache.
    """

    first: int
    size: int
    terms: NDArray[np.uint32]
    starts: NDArray[np.uint32]
    rows: NDArray[np.uint16]
    counts: NDArray[np.uint8]
    frequencies: dict[int, int] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        arrays = (self.terms, self.starts, self.rows, self.counts)
        return sum(array.nbytes for array in arrays)

    def ranges(self, terms: NDArray[np.uint32]) -> list[tuple[int, int]]:
        """Return where the postings of each term begin and end."""
        if not len(self.terms):
            return [(0, 0)] * len(terms)
        at = np.searchsorted(self.terms, terms)
        at[at == len(self.terms)] = 0
        ends = np.where(self.terms[at] == terms, self.starts[at + 1], self.starts[at])
        return list(zip(self.starts[at].tolist(), ends.tolist(), strict=True))


def pack(
    rows: NDArray[np.integer], terms: NDArray[np.uint32], counts: NDArray[np.uint8]
) -> Keys:
    """Return postings as numbers to sort: term, row of the segment, count."""
    keys = terms.astype(np.uint64) << _TERM_SHIFT
    keys |= rows.astype(np.uint64) << _ROW_SHIFT
    keys |= counts
    return keys


def build(first: int, size: int, keys: Keys) -> Segment:
    """Return the segment of some packed postings, which are in order."""
    counts = (keys & _COUNT_MASK).astype(np.uint8)
    rows = ((keys >> _ROW_SHIFT) & _ROW_MASK).astype(np.uint16)
    every_term = (keys >> _TERM_SHIFT).astype(np.uint32)
    is_first = np.ones(len(keys), dtype=np.bool_)
    is_first[1:] = every_term[1:] != every_term[:-1]
    starts = np.flatnonzero(is_first)
    terms = every_term[starts]
    ends = np.append(starts, len(keys)).astype(np.uint32)
    return Segment(first, size, terms, ends, rows, counts)


def keys_of(segment: Segment, first: int = 0) -> Keys:
    """Return a segment's packed postings, with rows counted from ``first`` on."""
    lengths = segment.starts[1:] - segment.starts[:-1]
    rows = segment.rows.astype(np.uint32) + np.uint32(segment.first - first)
    return pack(rows, np.repeat(segment.terms, lengths), segment.counts)


def merged(first_part: Segment, second_part: Segment) -> Segment:
    """Return two neighbours as one."""
    keys = np.concatenate(
        [keys_of(first_part, first_part.first), keys_of(second_part, first_part.first)]
    )
    keys.sort()
    return build(first_part.first, first_part.size + second_part.size, keys)


def compacted(segments: Sequence[Segment]) -> list[Segment]:
    """Return segments with small neighbours merged: sizes halve from left to right."""
    result = list(segments)
    while len(result) > 1:
        first_part, second_part = result[-2:]
        size = first_part.size + second_part.size
        if first_part.size >= 2 * second_part.size or size > MAX_ROWS:
            break
        result[-2:] = [merged(first_part, second_part)]
    return result


def replaced(segment: Segment, rows: NDArray[np.integer], keys: Keys) -> Segment:
    """Return a segment in which some rows have other postings, or none.

    ``rows`` are the segment's own numbers of rows whose postings leave, ``keys`` the
    postings that come. In the old arrays they count nothing from now on.
    """
    leaves = np.zeros(MAX_ROWS, dtype=np.bool_)
    leaves[rows] = True
    is_leaving = leaves[segment.rows]
    stays = keys_of(segment, segment.first)[~is_leaving]
    segment.counts[is_leaving] = 0
    if len(keys):
        stays = np.concatenate([stays, keys])
        stays.sort()
    return build(segment.first, segment.size, stays)

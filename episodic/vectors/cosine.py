"""Nearest neighbours of many vectors at once, in bounded memory.

The queries are multiplied with a few thousand rows at a time, and only the best
cosines so far are kept: 512 queries against 100,000 rows need 16 MB beside the
matrix, where all cosines at once would need 200.
"""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

ROWS_AT_ONCE: Final = 8_192
Rows = NDArray[np.int64]
Floats = NDArray[np.float32]


class Vectors(Protocol):
    """Vectors that can be read by their rows."""

    def __getitem__(self, rows: Rows, /) -> Floats: ...


NO_NEIGHBOUR: Final = np.float32(-2.0)


def top(
    vectors: Vectors,
    rows: Rows,
    queries: Rows,
    k: int,
    groups: NDArray[np.int32] | None = None,
    times: NDArray[np.int64] | None = None,
) -> Floats:
    """Return the ``k`` best cosines of each query row to the other rows, best first.

    ``groups`` is one number per row of ``vectors``; with it, only rows of the query
    row's own group count. With ``times`` only older rows count. An unused place is
    ``NO_NEIGHBOUR``.
    """
    best = np.full((len(queries), k), NO_NEIGHBOUR, dtype=np.float32)
    query_vectors = vectors[queries]
    for start in range(0, len(rows), ROWS_AT_ONCE):
        part = rows[start : start + ROWS_AT_ONCE]
        cosine = query_vectors @ vectors[part].T
        cosine[queries[:, None] == part[None, :]] = NO_NEIGHBOUR
        if groups is not None:
            cosine[groups[queries][:, None] != groups[part][None, :]] = NO_NEIGHBOUR
        if times is not None:
            cosine[times[queries][:, None] <= times[part][None, :]] = NO_NEIGHBOUR
        candidates = np.concatenate([best, cosine], axis=1)
        best = -np.partition(-candidates, k - 1, axis=1)[:, :k]
    return -np.sort(-best, axis=1)


def background(
    vectors: Vectors, rows: Rows, pairs: int, rng: np.random.Generator
) -> float:
    """Return the mean cosine of random pairs of different rows."""
    first = rng.integers(0, len(rows), pairs)
    other = (first + rng.integers(1, len(rows), pairs)) % len(rows)
    total = 0.0
    for start in range(0, pairs, ROWS_AT_ONCE):
        stop = start + ROWS_AT_ONCE
        first_vectors, other_vectors = (
            vectors[rows[first[start:stop]]],
            vectors[rows[other[start:stop]]],
        )
        total += float(np.einsum("ij,ij->", first_vectors, other_vectors))
    return total / pairs

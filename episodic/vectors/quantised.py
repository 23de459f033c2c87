"""Vectors as one signed byte per number, scanned a row at a time in whole numbers.

A row is ``scale × codes``, off by at most ``error`` from the vector it stands for; so
the cosine of a row and a question is known within ``error``, and which rows can be
among the best is proved. A quarter of float32's memory is also a quarter of what a
scan reads. ``exact`` holds the vectors themselves while they take little memory;
above that they are read from the database, a few hundred per question.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

import numpy as np
import simsimd
from numpy.typing import NDArray

from episodic.vectors.cosine import Floats, Rows

LARGEST: Final = 127
# 100,000 vectors of 384 numbers.
EXACT_BYTES: Final = 160_000_000
# Below it a second thread costs more than it brings.
ROWS_FOR_TWO: Final = 200_000
_threads: Final = {"count": min(2, os.cpu_count() or 1)}


def _one_thread() -> None:
    _threads["count"] = 1


# A forked child has none of the threads its parent's library counts on, and would wait.
os.register_at_fork(after_in_child=_one_thread)


@dataclass(frozen=True, slots=True)
class Question:
    """A question's vector as two layers of codes; the second is what the first lost."""

    vector: Floats
    layers: NDArray[np.int8]
    scales: Floats
    error: float

    @classmethod
    def of(cls, vector: Floats) -> Question:
        """Return a question ready for scanning."""
        first, first_scale = quantise(vector[None])
        lost = vector[None] - dequantise(first, first_scale)
        second, second_scale = quantise(lost)
        rest = lost - dequantise(second, second_scale)
        return cls(
            vector,
            np.concatenate([first, second]),
            np.concatenate([first_scale, second_scale]),
            # What float32 loses while adding up is smaller than the last term.
            float(np.linalg.norm(rest)) + 1e-5,
        )


def quantise(vectors: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Return the codes of some vectors and the scale of each."""
    scale = np.abs(vectors).max(axis=1, initial=0) / np.float32(LARGEST)
    step = np.where(scale > 0, scale, np.float32(1))
    codes = np.rint(vectors / step[:, None])
    return codes.astype(np.int8), scale.astype(np.float32)


def dequantise(codes: NDArray[np.int8], scale: Floats) -> Floats:
    """Return the vectors that codes stand for."""
    return codes * scale[:, None]


class QuantisedVectors:
    """The vectors of a matrix; reading gives float32, exact where that is kept."""

    def __init__(self, capacity: int, dim: int, *, keep_exact: bool) -> None:
        # Memory that was never written to is not in use: room to grow costs nothing.
        self.codes: NDArray[np.int8] = np.zeros((capacity, dim), dtype=np.int8)
        self.scale: Floats = np.zeros(capacity, dtype=np.float32)
        self.exact: Floats | None = None
        if keep_exact:
            self.exact = np.zeros((capacity, dim), dtype=np.float32)
        self.error = 0.0

    def __getitem__(self, rows: Rows | slice) -> Floats:
        if self.exact is not None:
            return self.exact[rows]
        return dequantise(self.codes[rows], self.scale[rows])

    def __len__(self) -> int:
        return len(self.scale)

    @property
    def row_bytes(self) -> int:
        """How many bytes one vector takes."""
        dim = self.codes.shape[1]
        return dim + 4 + (4 * dim if self.exact is not None else 0)

    def write(self, start: int, vectors: Floats) -> None:
        """Write vectors from a row on."""
        end = start + len(vectors)
        codes, scale = quantise(vectors)
        lost = vectors - dequantise(codes, scale)
        largest = np.einsum("ij,ij->i", lost, lost).max(initial=0)
        self.codes[start:end], self.scale[start:end] = codes, scale
        if self.exact is not None:
            self.exact[start:end] = vectors
        self.error = max(self.error, float(np.sqrt(largest)) * 1.001)

    def copy_rows(self, other: QuantisedVectors, rows: Rows) -> None:
        """Take rows over from another store, in order from the first row on."""
        count = len(rows)
        self.codes[:count], self.scale[:count] = other.codes[rows], other.scale[rows]
        if self.exact is not None:
            self.exact[:count] = other[rows]
        self.error = other.error

    def is_same(self, row: int, vector: Floats) -> bool:
        """Whether a row holds a vector already."""
        if self.exact is not None:
            return bool(np.array_equal(self.exact[row], vector))
        codes, scale = quantise(vector[None])
        same_codes = np.array_equal(self.codes[row], codes[0])
        return bool(same_codes and self.scale[row] == scale[0])

    def wipe(self, row: int) -> None:
        """Zero a row's numbers in place."""
        self.codes[row], self.scale[row] = 0, 0.0
        if self.exact is not None:
            self.exact[row] = 0.0

    def total(self, start: int, end: int) -> NDArray[np.float64]:
        """Return the sum of rows as their codes have them."""
        scale = self.scale[start:end]
        return (scale @ self.codes[start:end].astype(np.float32)).astype(np.float64)

    def cosines(self, question: Question, rows: Rows | None, size: int) -> Floats:
        """Return the cosines of rows (None: the first ``size``), each within an error.

        When many rows are wanted it is cheaper to scan all and pick than to copy.
        """
        is_few = rows is not None and len(rows) * 4 < size
        codes = self.codes[rows] if is_few else self.codes[:size]
        scale = self.scale[rows] if is_few else self.scale[:size]
        if not len(codes):
            return np.zeros(0, dtype=np.float32)
        threads = _threads["count"] if len(codes) >= ROWS_FOR_TWO else 1
        products = simsimd.cdist(
            codes, question.layers, "dot", threads=threads, out_dtype="float32"
        )
        cosine = np.asarray(products) @ question.scales
        cosine *= scale
        return cosine if rows is None or is_few else cosine[rows]

    def slack(self, question: Question) -> float:
        """Return how far a scanned cosine may be from the exact one."""
        return self.error * float(np.linalg.norm(question.vector)) + question.error

"""Vectors as one signed byte per number, scanned a row at a time in whole numbers.

A row is ``scale × codes``, off by at most ``error`` from the vector it stands for; so
the cosine of a row and a question is known within ``error``, and which rows can be
among the best is proved. A quarter of float32's memory is also a quarter of what a
scan reads. ``exact`` holds the vectors themselves while they take little memory;
above that they are read from the database, a few hundred per question.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import simsimd
from numpy.typing import NDArray

from episodic.vectors.cosine import Floats, Rows

LARGEST: Final = 127
# 100,000 vectors of 384 numbers.
EXACT_BYTES: Final = 160_000_000
# A question's codes, and the codes of what those lost.
LAYERS: Final = 2
# From here on a scan waits for memory, and two threads read it. Below, a second thread
# costs more than it brings.
MANY_ROWS: Final = 200_000
# What the processor's cache holds while they are quantised.
ROWS_AT_ONCE: Final = 256
_threads: Final = {"count": min(2, os.cpu_count() or 1)}


def _one_thread() -> None:
    _threads["count"] = 1


# A forked child has none of the threads its parent's library counts on, and would wait.
os.register_at_fork(after_in_child=_one_thread)


@dataclass(frozen=True, slots=True)
class Question:
    """A question's vector as two layers of codes; the second is what the first lost.

    ``errors`` are what is lost with one layer and with both.
    """

    vector: Floats
    layers: NDArray[np.int8]
    scales: Floats
    errors: tuple[float, float]

    @classmethod
    def of(cls, vector: Floats) -> Question:
        """Return a question ready for scanning."""
        first, remainder = quantise(vector[None])
        second, rest = quantise(remainder)
        return cls(
            vector,
            np.concatenate([first.codes, second.codes]).astype(np.int8),
            np.concatenate([first.scale, second.scale]),
            (float(np.linalg.norm(remainder)), float(np.linalg.norm(rest))),
        )


class Quantised(NamedTuple):
    """Whole numbers from −127 to 127, still as floats, and the scale of each row."""

    codes: Floats
    scale: Floats


def quantise(vectors: Floats) -> tuple[Quantised, Floats]:
    """Return some vectors quantised, and what is lost of them."""
    largest = np.maximum(vectors.max(axis=1), -vectors.min(axis=1))
    scale = largest / np.float32(LARGEST)
    steps: Floats = np.where(scale > 0, scale, np.float32(1))[:, None]
    remainder: Floats = vectors / steps
    codes = np.rint(remainder)
    remainder -= codes
    remainder *= steps
    return Quantised(codes, scale), remainder


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

    @property
    def row_bytes(self) -> int:
        """How many bytes one vector takes."""
        dim = int(self.codes.shape[1])
        return dim + 4 + (4 * dim if self.exact is not None else 0)

    def write(self, start: int, vectors: Floats) -> None:
        """Write vectors from a row on."""
        for first in range(0, len(vectors), ROWS_AT_ONCE):
            part = vectors[first : first + ROWS_AT_ONCE]
            rows = slice(start + first, start + first + len(part))
            quantised, remainder = quantise(part)
            self.codes[rows], self.scale[rows] = quantised
            if self.exact is not None:
                self.exact[rows] = part
            largest = float(np.einsum("ij,ij->i", remainder, remainder).max())
            # A thousandth more than float32 loses while adding up.
            self.error = max(self.error, 1.001 * math.sqrt(largest))

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
        [codes], [scale] = quantise(vector[None])[0]
        return bool(np.array_equal(self.codes[row], codes) and self.scale[row] == scale)

    def wipe(self, row: int) -> None:
        """Zero a row's numbers in place."""
        self.codes[row], self.scale[row] = 0, 0.0
        if self.exact is not None:
            self.exact[row] = 0.0

    def total(self, start: int, end: int) -> NDArray[np.float64]:
        """Return the sum of rows as their codes have them."""
        total = np.zeros(self.codes.shape[1], dtype=np.float64)
        for first in range(start, end, ROWS_AT_ONCE):
            rows = slice(first, min(end, first + ROWS_AT_ONCE))
            total += self.scale[rows] @ self.codes[rows].astype(np.float32)
        return total

    def cosines(
        self, question: Question, rows: Rows | None, size: int, *, layers: int = LAYERS
    ) -> tuple[Floats, float]:
        """Return the cosines of rows (None: the first ``size``), and their slack.

        The slack is how far a cosine may be from the exact one, with so many layers of
        the question. When many rows are wanted it is cheaper to scan all and pick than
        to copy.
        """
        is_few = rows is not None and len(rows) * 4 < size
        codes = self.codes[rows] if is_few else self.codes[:size]
        scale = self.scale[rows] if is_few else self.scale[:size]
        if not len(codes):
            return np.zeros(0, dtype=np.float32), 0.0
        threads = _threads["count"] if len(codes) >= MANY_ROWS else 1
        products = simsimd.cdist(
            codes, question.layers[:layers], "dot", threads=threads, out_dtype="float32"
        )
        layer_products = np.asarray(products)
        # A product with a matrix of one column would take ten times as long.
        cosine: Floats = layer_products[:, 0] * question.scales[0]
        for layer in range(1, layers):
            cosine += layer_products[:, layer] * question.scales[layer]
        cosine *= scale
        # Rows are at most as long as a unit and what they lost; the last term is more
        # than float32 loses while adding up.
        slack = self.error * float(np.linalg.norm(question.vector))
        slack += question.errors[layers - 1] * (1 + self.error) + 1e-5
        return (cosine if rows is None or is_few else cosine[rows]), slack

"""A question on PostgreSQL: what a vector is worth to it, in SQL and exactly.

The database orders by inner products of halves, which are off by some 0.00001; what it
brings is measured again here, and ordered by that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from episodic.embedders.base import Vectors
from episodic.vectors import pg_scope, pg_store
from episodic.vectors.base import VectorHit
from episodic.vectors.pg_scope import Row, Sql

_SMALLEST: Final = 1e-6
Exact = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Question:
    """A question's vector, and the mean that centred cosines are seen from, if any."""

    vector: Vectors
    mean: Vectors | None
    centred: bool

    @property
    def dim(self) -> int:
        return len(self.vector)

    @property
    def towards(self) -> str:
        """The direction in which the nearest by the order lie, as a literal.

        Vectors have length 1, so that what is near the question as seen from the mean
        lies in the direction from the mean to the question.
        """
        if not self.centred or self.mean is None:
            return pg_scope.literal(self.vector)
        return pg_scope.literal(self.vector - self.mean)

    def value(self) -> Sql:
        """Return what ``v`` is ordered by: cosine × importance, or centred."""
        product = "-(v.vec <#> %s::halfvec)"
        if not self.centred:
            return f"{product} * v.importance", [pg_scope.literal(self.vector)]
        if self.mean is None:
            return product, [pg_scope.literal(self.vector)]
        offset = self.vector - self.mean
        square = float(self.mean @ self.mean)
        length = max(float(np.linalg.norm(offset)), _SMALLEST)
        distance = "sqrt(greatest(%s + 2 * (v.vec <#> %s::halfvec), %s))"
        return (
            f"({product} - %s) / ({distance} * %s)",
            [
                *(pg_scope.literal(offset), float(offset @ self.mean)),
                *(1 + square, pg_scope.literal(self.mean), _SMALLEST, length),
            ],
        )

    def hits(self, rows: Sequence[Row]) -> list[VectorHit]:
        """Return rows of id, moment, importance and vector as hits, best first."""
        pairs = list(zip(rows, self.measured(rows), strict=True))
        pairs.sort(key=lambda pair: (-self.order(pair[1]), -pair[0][1], pair[0][0]))
        return [hit for _, hit in pairs]

    def measured(self, rows: Sequence[Row]) -> list[VectorHit]:
        """Return such rows as hits, in their order."""
        if not rows:
            return []
        vectors = pg_store.floats([bytes(row[3]) for row in rows]).astype(np.float64)
        cosines = _cosines(vectors, self.vector.astype(np.float64))
        centred = cosines
        if self.mean is not None:
            mean = self.mean.astype(np.float64)
            centred = _cosines(vectors - mean, self.vector - mean)
        return [
            VectorHit(row[0], cosine, centre_cosine, row[2], cosine * row[2])
            for row, cosine, centre_cosine in zip(
                rows, cosines.tolist(), centred.tolist(), strict=True
            )
        ]

    def order(self, hit: VectorHit) -> float:
        """Return what a hit is ordered by."""
        return hit.centred if self.centred else hit.score


def _cosines(vectors: Exact, question: Exact) -> Exact:
    """Return cosines, the same for the same vector wherever it stands."""
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(question)
    products: Exact = (vectors * question).sum(axis=1)
    products /= np.maximum(lengths, _SMALLEST)
    return products

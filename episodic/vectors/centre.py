"""Cosines as seen from the middle of a workspace's vectors.

Texts of one workspace resemble each other, and small models add a direction that all
texts share. Seen from the mean of all vectors, what is left is what tells them apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from episodic.vectors.cosine import Floats, Rows

# With fewer vectors the mean is mostly those few themselves, and centring distorts.
FEWEST: Final = 50
# The mean may move so far (vectors are 1 long) before everything is measured again.
DRIFT: Final = 0.02
_SMALLEST: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Centre:
    """The mean that cosines are seen from, and where each row lies from there.

    ``along`` are the rows' products with it, ``nearness`` one divided by the distance
    from it. A zero mean changes nothing: centred cosines are then the plain ones.
    """

    mean: Floats
    along: Floats
    nearness: Floats

    @classmethod
    def empty(cls, mean: Floats, capacity: int) -> Centre:
        """Return a mean with room for so many rows."""
        along, nearness = np.zeros((2, capacity), dtype=np.float32)
        return cls(mean, along, nearness)

    @property
    def row_bytes(self) -> int:
        """How many bytes one row takes."""
        return self.along.itemsize + self.nearness.itemsize

    def write(self, rows: slice, along: Floats) -> None:
        """Write the products of some rows with the mean."""
        self.along[rows] = along
        self.nearness[rows] = 1 / self.distance(self.along[rows])

    def wipe(self, row: int) -> None:
        """Zero a row's numbers in place."""
        self.along[row] = self.nearness[row] = 0.0

    @property
    def is_zero(self) -> bool:
        return not self.mean.any()

    def scanned(self, query: Floats, cosine: Floats, rows: Rows | slice) -> Floats:
        """Return the centred cosines of rows from their plain ones, in float32."""
        if self.is_zero:
            return cosine
        offset, distance = self._of_query(query)
        centred: Floats = cosine - self.along[rows]
        centred += np.float32(offset)
        centred *= self.nearness[rows]
        centred *= np.float32(1 / distance)
        return centred

    def centred(
        self, query: Floats, cosine: NDArray[np.float64], along: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the centred cosines of unit vectors from their plain ones.

        ``along`` are the products of the vectors with the mean.
        """
        if self.is_zero:
            return cosine
        offset, distance = self._of_query(query)
        product = cosine - along + np.float32(offset)
        centred: NDArray[np.float64] = product / (self.distance(along) * distance)
        return centred

    def _of_query(self, query: Floats) -> tuple[float, float]:
        """Return what a product gains by centring, and the question's distance."""
        square = float(self.mean @ self.mean)
        return square - float(query @ self.mean), self.query_distance(query)

    def distance(self, along: NDArray[Any]) -> NDArray[Any]:
        """Return how far unit vectors are from the mean."""
        square = np.float32(1 + float(self.mean @ self.mean))
        return np.sqrt(np.maximum(square - 2 * along, np.float32(_SMALLEST)))

    def query_distance(self, query: Floats) -> float:
        """Return how far the question is from the mean."""
        return max(float(np.linalg.norm(query - self.mean)), _SMALLEST)

    def slack(self, query: Floats, slack: float, along: Floats) -> Floats:
        """Return how far centred cosines may be off when plain ones are by ``slack``.

        Both the product and the distance from the mean are made of scanned numbers.
        """
        if self.is_zero:
            return np.full(len(along), slack, dtype=np.float32)
        length, distance = float(np.linalg.norm(self.mean)), self.distance(along)
        of_product = np.float32(slack * (1 + length) / self.query_distance(query))
        of_distance = np.float32(1.5 * slack * length)
        total: NDArray[Any] = of_product / distance + of_distance / distance**2
        return total

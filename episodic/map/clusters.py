"""Groups of places in a plane: k-means with a fixed seed."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from episodic.map.projection import SEED, Floats

MOST: Final = 16
ROUNDS: Final = 30
# A group per so many points at first; the number grows with the square root.
FIRST: Final = 8


def count(points: int) -> int:
    """Return how many groups so many points are divided into."""
    return min(MOST, points, max(2, round(math.sqrt(points / FIRST))))


def groups(places: Floats) -> NDArray[np.int64]:
    """Return the group of each place, the largest group first."""
    centres = _first_centres(places, count(len(places)))
    labels = np.zeros(len(places), dtype=np.int64)
    for _ in range(ROUNDS):
        previous, labels = labels, _distances(places, centres).argmin(axis=1)
        sizes = np.bincount(labels, minlength=len(centres))
        for axis in (0, 1):
            sums = np.bincount(labels, places[:, axis], len(centres))
            centres[:, axis] = np.where(sizes, sums / np.maximum(1, sizes), np.inf)
        if np.array_equal(previous, labels):
            break
    sizes = np.bincount(labels, minlength=len(centres))
    rank = np.empty(len(centres), dtype=np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(centres))
    ranked: NDArray[np.int64] = rank[labels]
    return ranked


def _first_centres(places: Floats, total: int) -> NDArray[np.float64]:
    """Return centres drawn far from each other (k-means++)."""
    rng = np.random.default_rng(SEED)
    centres = places[rng.integers(len(places), size=1)].astype(np.float64)
    while len(centres) < total:
        nearest = _distances(places, centres).min(axis=1)
        if not nearest.any():
            break
        row = rng.choice(len(places), p=nearest / nearest.sum())
        centres = np.concatenate([centres, places[row : row + 1]])
    return centres


def _distances(places: Floats, centres: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared distance of each place to each centre."""
    distances = [np.square(places - centre).sum(axis=1) for centre in centres]
    return np.stack(distances, axis=1)

"""Places of vectors in a plane: principal components, then pulled by neighbours.

Everything is a function of the vectors: there is a fixed seed, and the sign of a
component is the one that makes its largest part positive.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

NEIGHBOURS: Final = 10
ROWS_AT_ONCE: Final = 256
SEED: Final = 7
ROUNDS: Final = 200
# How many random points push each point away per round, and how strongly.
STRANGERS: Final = 4
PUSH: Final = 0.6
STEP: Final = 0.8
# The standard deviation of each axis at the beginning.
FIRST_SPREAD: Final = 4.0
FARTHEST_MOVE: Final = 4.0


class Neighbours(NamedTuple):
    """The nearest other vectors of each, nearest first, and their cosines."""

    rows: Rows
    cosines: Floats


def components(vectors: Floats) -> Floats:
    """Return the first two principal components of the vectors, two columns."""
    centred = vectors - vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    _, axes = np.linalg.eigh((centred.T @ centred).astype(np.float64))
    first_two = axes[:, -2:][:, ::-1]
    largest = np.abs(first_two).argmax(axis=0)
    signs = np.where(first_two[largest, [0, 1]] < 0, -1.0, 1.0)
    places: Floats = (centred @ (first_two * signs)).astype(np.float32)
    return places


def neighbours(vectors: Floats, count: int = NEIGHBOURS) -> Neighbours:
    """Return the nearest ``count`` others of each unit vector."""
    total = len(vectors)
    count = min(count, total - 1)
    rows = np.zeros((total, count), dtype=np.int64)
    cosines = np.zeros((total, count), dtype=np.float32)
    for start in range(0, total, ROWS_AT_ONCE):
        part = np.arange(start, min(total, start + ROWS_AT_ONCE))
        products = vectors[part] @ vectors.T
        products[part - start, part] = -2.0
        best = np.argpartition(-products, count - 1, axis=1)[:, :count]
        values = np.take_along_axis(products, best, axis=1)
        order = np.argsort(-values, axis=1, kind="stable")
        rows[part] = np.take_along_axis(best, order, axis=1)
        cosines[part] = np.take_along_axis(values, order, axis=1)
    return Neighbours(rows, cosines)


def layout(places: Floats, nearest: Neighbours) -> Floats:
    """Return the places after neighbours drew together and strangers positions apart.

    The forces are those of UMAP with both shape parameters 1, computed for all edges of
    a round at once.
    """
    rng = np.random.default_rng(SEED)
    total, count = nearest.rows.shape
    heads = np.repeat(np.arange(total), count)
    tails = nearest.rows.ravel()
    weights = _weights(nearest.cosines).ravel()
    # Both axes begin equally wide, or the first one would stretch the picture.
    spread = np.maximum(places.std(axis=0, dtype=np.float64), 1e-9)
    positions = places * (FIRST_SPREAD / spread)
    # Equal vectors would stay on one spot for ever.
    positions += rng.normal(0, 1e-3, positions.shape)
    for number in range(ROUNDS):
        step = STEP * (1 - number / ROUNDS)
        towards = positions[tails] - positions[heads]
        square = np.einsum("ij,ij->i", towards, towards)
        pull = (weights / (1 + square))[:, None] * towards
        forces = _summed(heads, pull, total) - _summed(tails, pull, total)
        for _ in range(STRANGERS):
            away = positions - positions[rng.integers(0, total, total)]
            square = np.einsum("ij,ij->i", away, away)
            forces += (PUSH / ((0.01 + square) * (1 + square)))[:, None] * away
        positions += np.clip(step * forces, -FARTHEST_MOVE, FARTHEST_MOVE)
    settled: Floats = positions.astype(np.float32)
    return settled


def spread(places: Floats) -> Floats:
    """Return the places with less empty room between far islands.

    Each axis is half its place and half its rank, both from 0 to 1: the order along an
    axis stays.
    """
    low, high = places.min(axis=0), places.max(axis=0)
    shares = (places - low) / np.maximum(high - low, np.float32(1e-9))
    ranks = places.argsort(axis=0, kind="stable").argsort(axis=0)
    mixed: Floats = ((shares + ranks / max(1, len(places) - 1)) / 2).astype(np.float32)
    return mixed


def _weights(cosines: Floats) -> Floats:
    """Return how strongly each neighbour pulls: 1 for the nearest, less for others."""
    behind = cosines[:, :1] - cosines
    scale = np.maximum(behind.mean(axis=1, keepdims=True), np.float32(1e-6))
    weights: Floats = np.exp(-behind / scale)
    return weights


def _summed(rows: Rows, forces: NDArray[np.float64], total: int) -> NDArray[np.float64]:
    """Return the sum of the forces on each row."""
    parts = [np.bincount(rows, forces[:, axis], total) for axis in (0, 1)]
    return np.stack(parts, axis=1)


def trustworthiness(nearest: Neighbours, places: Floats, sampled: Rows) -> float:
    """Return the share of the plane's nearest that are near as vectors too, 0 to 1.

    Of the sampled rows, each with as many neighbours as ``nearest`` has.
    """
    count = nearest.rows.shape[1]
    shares = []
    for row in sampled.tolist():
        away = places - places[row]
        distance = np.einsum("ij,ij->i", away, away)
        distance[row] = np.inf
        candidates = np.argpartition(distance, count - 1)[:count]
        shares.append(np.isin(candidates, nearest.rows[row]).mean())
    return float(np.mean(shares)) if shares else 0.0

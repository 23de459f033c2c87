"""BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009)."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

# Chosen on labelled sets; the README of episodic tells which.
K1: Final = 0.9
B: Final = 0.5
Floats = NDArray[np.float32]


def idf(entry_count: int, frequency: int) -> float:
    """Return the weight of a term that ``frequency`` of the entries hold."""
    frequency = min(frequency, entry_count)
    return float(np.log1p((entry_count - frequency + 0.5) / (frequency + 0.5)))


def norms(lengths: NDArray[np.integer], average: float) -> Floats:
    """Return what each length adds below the fraction of ``saturation``."""
    scale = K1 * B / max(average, 1.0)
    return (lengths * np.float32(scale) + np.float32(K1 * (1 - B))).astype(np.float32)


# The length of a window does not count: many short entries say no less than few long.
WINDOW_NORM: Final = np.full(1, K1, dtype=np.float32)


def saturation(counts: NDArray[np.integer], norm: Floats, weight: float) -> Floats:
    """Return what a term adds to a score; ``weight`` is its idf."""
    numbers = counts.astype(np.float32)
    return numbers * np.float32(weight * (K1 + 1)) / (numbers + norm)


def upper_limit(max_count: int, average: float, weight: float) -> float:
    """Return the most that a term can add, that nowhere occurs more often.

    A text is at least as long as a term occurs often in it.
    """
    norm = K1 * (1 - B) + K1 * B * max_count / max(average, 1.0)
    return weight * (K1 + 1) * max_count / (max_count + norm) if max_count else 0.0


def window_upper_limit(max_count: int, weight: float) -> float:
    """Return the most that a term adds to a window, where it occurs no more often."""
    return weight * (K1 + 1) * max_count / (max_count + K1) if max_count else 0.0

"""Metrics of a ranking with exactly one right entry per question.

With the right entry at rank r (from 1), or nowhere in the list:

recall@k   1 when r ≤ k, else 0
MRR@k      1 / r when r ≤ k, else 0
nDCG@k     1 / log2(1 + r) when r ≤ k, else 0 (the ideal list has it first, and 1)

Intervals are 95 % bootstrap percentiles over the questions; a difference of two modes
is resampled in pairs, question by question.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

TOP: Final = 10
RESAMPLES: Final = 2_000
SEED: Final = 7

Ranks = Sequence[int | None]
Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its bootstrap interval."""

    mean: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves zero out."""
        return self.low > 0 or self.high < 0

    def as_list(self) -> list[float]:
        """Return mean, lower and upper bound, rounded to four digits."""
        return [round(value, 4) for value in (self.mean, self.low, self.high)]


def recall(rank: int | None, k: int) -> float:
    return float(rank is not None and rank <= k)


def reciprocal(rank: int | None, k: int = TOP) -> float:
    """Return 1 / rank, 0 beyond k."""
    return 1.0 / rank if rank is not None and rank <= k else 0.0


def gain(rank: int | None, k: int = TOP) -> float:
    """Return the discounted gain of the right entry, 0 beyond k."""
    return 1.0 / math.log2(1 + rank) if rank is not None and rank <= k else 0.0


def metrics(ranks: Ranks) -> dict[str, Numbers]:
    """Return metric → value per question."""
    return {
        "recall@5": np.array([recall(r, 5) for r in ranks]),
        "recall@10": np.array([recall(r, 10) for r in ranks]),
        "mrr@10": np.array([reciprocal(r) for r in ranks]),
        "ndcg@10": np.array([gain(r) for r in ranks]),
    }


def estimate(values: Numbers) -> Estimate:
    """Return the mean of some questions and its bootstrap interval."""
    if not len(values):
        return Estimate(0.0, 0.0, 0.0)
    rng = np.random.default_rng(SEED)
    picks = rng.integers(0, len(values), (RESAMPLES, len(values)), dtype=np.int32)
    means = values[picks].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return Estimate(float(values.mean()), float(low), float(high))


def table(by_mode: Mapping[str, Ranks]) -> dict[str, dict[str, list[float]]]:
    """Return mode → metric → mean, low, high."""
    return {
        mode: {name: estimate(v).as_list() for name, v in metrics(ranks).items()}
        for mode, ranks in by_mode.items()
    }


def verdict(by_mode: Mapping[str, Ranks], now: str, rivals: Sequence[str]) -> str:
    """Say in a sentence whether a rival should replace the default, and why."""
    gains = {mode: metrics(by_mode[mode])["ndcg@10"] for mode in (now, *rivals)}
    best = max(gains, key=lambda mode: float(gains[mode].mean()))
    if best == now:
        return f"{now} should stay the default: no fusion has a higher nDCG@10."
    apart = estimate(gains[best] - gains[now])
    sentence = (
        f"{apart.mean:+.4f} [{apart.low:+.4f}, {apart.high:+.4f}] nDCG@10, paired"
    )
    if not apart.is_clear:
        return f"{now} should stay the default: {best} is {sentence}, not a clear gain."
    return f"{best} should be the default: {sentence} against {now}."

"""Metrics of a ranked answer to a question that may have several right documents.

With the right documents R, of which some are found at ranks r (from 1) up to k:

recall@k   found ones among the first k / |R|: the share of the evidence
MRR@k      1 / the rank of the first found, 0 when none is
nDCG@k     Σ 1 / log2(1 + r) over the found ones, divided by the same sum of an ideal
           answer, which has min(|R|, k) right ones first

Intervals are 95 % bootstrap percentiles over the questions; a difference of two arms
is resampled in pairs, question by question.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

TOP: Final = 10
RESAMPLES: Final = 2_000
SEED: Final = 7

Numbers = NDArray[np.float64]
Metrics = Mapping[str, Numbers]


@dataclass(frozen=True, slots=True)
class Answered:
    """A question that was answered: what came, best first, and what was right."""

    found: Sequence[str]
    relevant: Collection[str]

    def ranks(self, k: int) -> list[int]:
        """Return the ranks up to k of right documents; one named twice counts once."""
        first: dict[str, int] = {}
        for rank, one in enumerate(self.found[:k], 1):
            if one in self.relevant:
                first.setdefault(one, rank)
        return list(first.values())


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


def recall(answered: Answered, k: int) -> float:
    return len(answered.ranks(k)) / len(answered.relevant)


def reciprocal(answered: Answered, k: int = TOP) -> float:
    """Return 1 / the rank of the first right document, 0 without one up to k."""
    return 1.0 / min(answered.ranks(k), default=math.inf)


def gain(answered: Answered, k: int = TOP) -> float:
    """Return the discounted gain as a share of what an ideal answer has."""
    best = range(1, min(len(answered.relevant), k) + 1)
    return _discounted(answered.ranks(k)) / _discounted(best)


def _discounted(ranks: Collection[int]) -> float:
    return sum(1.0 / math.log2(1 + rank) for rank in ranks)


def metrics(answers: Sequence[Answered]) -> Metrics:
    """Return metric → value per question."""
    return {
        "recall@5": np.array([recall(a, 5) for a in answers]),
        "recall@10": np.array([recall(a, TOP) for a in answers]),
        "mrr@10": np.array([reciprocal(a) for a in answers]),
        "ndcg@10": np.array([gain(a) for a in answers]),
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


def table(arms: Mapping[str, Metrics]) -> dict[str, dict[str, list[float]]]:
    """Return arm → metric → mean, low, high."""
    return {
        arm: {name: estimate(values).as_list() for name, values in found.items()}
        for arm, found in arms.items()
    }


def difference(ours: Metrics, theirs: Metrics) -> dict[str, Estimate]:
    """Return metric → ours minus theirs, resampled in pairs."""
    return {name: estimate(ours[name] - theirs[name]) for name in ours}

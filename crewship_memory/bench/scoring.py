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
RECALLS: Final = ("recall@5", "recall@10")

Numbers = NDArray[np.float64]
Metrics = Mapping[str, Numbers]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer to a question, best first, and what would be right."""

    ids: Sequence[str]
    relevant: Collection[str]

    def ranks(self, k: int) -> list[int]:
        """Return the ranks up to k of right documents; each counts once."""
        first: dict[str, int] = {}
        for rank, document_id in enumerate(self.ids[:k], 1):
            if document_id in self.relevant:
                first.setdefault(document_id, rank)
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


def recall(ranking: Ranking, k: int) -> float:
    return len(ranking.ranks(k)) / len(ranking.relevant)


def reciprocal(ranking: Ranking, k: int = TOP) -> float:
    """Return 1 / the rank of the first right document, 0 without one up to k."""
    return 1.0 / min(ranking.ranks(k), default=math.inf)


def gain(ranking: Ranking, k: int = TOP) -> float:
    """Return the discounted gain as a share of what an ideal answer has."""
    best = range(1, min(len(ranking.relevant), k) + 1)
    return _discounted(ranking.ranks(k)) / _discounted(best)


def _discounted(ranks: Collection[int]) -> float:
    return sum(1.0 / math.log2(1 + rank) for rank in ranks)


def metrics(rankings: Sequence[Ranking]) -> Metrics:
    """Return metric → value per question."""
    return {
        "recall@5": np.array([recall(r, 5) for r in rankings]),
        "recall@10": np.array([recall(r, TOP) for r in rankings]),
        "mrr@10": np.array([reciprocal(r) for r in rankings]),
        "ndcg@10": np.array([gain(r) for r in rankings]),
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
        arm: {name: estimate(values).as_list() for name, values in metrics.items()}
        for arm, metrics in arms.items()
    }


def difference(arm: Metrics, other: Metrics) -> dict[str, Estimate]:
    """Return metric → an arm minus the other, resampled in pairs."""
    return {name: estimate(arm[name] - other[name]) for name in arm}

"""The five metrics of memory health, their weights and their bands. Pure arithmetic.

Each metric is a number from 0 to 100, rounded to one decimal, or None where nothing can
be measured: *no data* is neither red nor green, and never a zero.

Freshness     100 · 2^(−median age / 30 days), the age by the entry's own time. The
              half-life is the age at which compaction starts to roll old entries up: a
              memory whose middle entry is that old has lost half of its freshness.
              75 is a median of 12.5 days, 50 of 30.
Coverage      100 · indexed / embeddable.
Coherence     100 · (near − background) / (goal − background), cut to 0..100. near is
              the mean cosine of an entry to its three nearest neighbours in scope,
              background the mean cosine of random pairs. goal is 0.80, the cosine from
              which entries are linked; where random pairs are alike already (goal must
              stay above them) it is the middle between background and 1.
              Needs five entries.
Efficiency    100 · mean / 0.80, cut to 0..100. mean is the mean cosine of what the
              top 5 of a question hold, one mean per question. Needs two entries.
Reachability  100 · embeddings with at least one relation / embeddings.

The score is the weighted mean of the metrics that have data, over the weights of those
metrics; without any it is None. A metric without data therefore neither lifts nor drags
the score, and the weight that is known is told beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

HALF_LIFE_DAYS: Final = 30.0
LINKED_COSINE: Final = 0.80
NEIGHBOURS: Final = 3
TOP_K: Final = 5
LEAST_ENTRIES: Final = 5
RED_BELOW: Final = 50.0
GREEN_FROM: Final = 75.0
WEIGHTS: Final[dict[str, float]] = {
    "freshness": 0.25,
    "coverage": 0.25,
    "coherence": 0.20,
    "efficiency": 0.15,
    "reachability": 0.15,
}
METRICS: Final = tuple(WEIGHTS)


class Band(StrEnum):
    """A judgement of a metric or a score."""

    RED = "red"
    YELLOW = "yellow"
    GREEN = "green"
    NONE = "no data"


def _percent(share: float) -> float:
    return round(100 * min(1.0, max(0.0, share)), 1)


def freshness(median_days: float | None) -> float | None:
    """Return the freshness of entries whose median age is so many days."""
    if median_days is None:
        return None
    return _percent(2 ** (-max(0.0, median_days) / HALF_LIFE_DAYS))


def coverage(indexed: int, embeddable: int) -> float | None:
    """Return how much of what deserves a vector has one."""
    return _percent(indexed / embeddable) if embeddable else None


def goal(background: float) -> float:
    """Return the nearness that counts as perfectly grouped."""
    return max(LINKED_COSINE, (1 + background) / 2)


def coherence(near: float | None, background: float | None) -> float | None:
    """Return how cleanly embeddings group, against random pairs."""
    if near is None or background is None:
        return None
    room = goal(background) - background
    if room < 1e-9:
        return 100.0 if near >= background else 0.0
    return _percent((near - background) / room)


def efficiency(mean_cosine: float | None) -> float | None:
    """Return how near the answers of recalls are to their questions."""
    return None if mean_cosine is None else _percent(mean_cosine / LINKED_COSINE)


def reachability(connected: int, embeddings: int) -> float | None:
    """Return the share of embeddings that a relation leads to."""
    return _percent(connected / embeddings) if embeddings else None


def known_weight(metrics: Mapping[str, float | None]) -> float:
    """Return the weights of the metrics that have data, together."""
    return sum(WEIGHTS[name] for name in METRICS if metrics.get(name) is not None)


def score(metrics: Mapping[str, float | None]) -> float | None:
    """Return the weighted mean of the metrics that have data."""
    known = {n: v for n in METRICS if (v := metrics.get(n)) is not None}
    weight = known_weight(metrics)
    if not weight:
        return None
    points = sum(WEIGHTS[name] * value for name, value in known.items())
    return round(points / weight, 1)


def band(value: float | None) -> Band:
    """Return the band of a metric or a score: 50 is yellow, 75 is green."""
    if value is None:
        return Band.NONE
    if value < RED_BELOW:
        return Band.RED
    return Band.YELLOW if value < GREEN_FROM else Band.GREEN

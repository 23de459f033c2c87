"""Support of a rule: six signals, each in 0..1, and their weighted sum.

    relevance        0.30   confidence of the summariser; NaN counts as 0
    frequency        0.24   ln(1 + recalls) / ln(31), 1 from 30 recalls on
    query_diversity  0.15   ln(1 + queries) / ln(11), 1 from 10 queries on
    recency          0.15   2^(-age / 14 days); never seen 0, in the future 1
    consolidation    0.10   min(runs, 5) / 5
    richness         0.06   0.3 · min(evidence / 8, 1) + 0.7 · min(types / 4, 1)

A rule is well supported from 0.80 with three recalls by three different questions. The
score is advice for the person who decides; it approves nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

WEIGHTS: Final = {
    "relevance": 0.30,
    "frequency": 0.24,
    "query_diversity": 0.15,
    "recency": 0.15,
    "consolidation": 0.10,
    "richness": 0.06,
}
GATE_SCORE: Final = 0.80
GATE_RECALLS: Final = 3
GATE_QUERIES: Final = 3
HALF_LIFE_DAYS: Final = 14.0
FULL_RECALLS: Final = 30
FULL_QUERIES: Final = 10
FULL_RUNS: Final = 5
FULL_EVIDENCE: Final = 8
FULL_TYPES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """What is known about a rule; ``age_days`` is None when it was never seen."""

    confidence: float
    recalls: int = 0
    queries: int = 0
    age_days: float | None = None
    runs: int = 0
    evidence: int = 0
    types: int = 0


@dataclass(frozen=True, slots=True)
class Score:
    """The composite, the six signals by name, and whether the gate is passed."""

    composite: float
    signals: dict[str, float]
    is_promoted: bool


def _unit(value: float) -> float:
    return 0.0 if math.isnan(value) else min(1.0, max(0.0, value))


def _saturating(count: int, full: int) -> float:
    return _unit(math.log1p(max(0, count)) / math.log1p(full))


def _recency(age_days: float | None) -> float:
    if age_days is None or math.isnan(age_days):
        return 0.0
    return 1.0 if age_days <= 0 else float(2.0 ** (-age_days / HALF_LIFE_DAYS))


def score(support: Support) -> Score:
    """Return a rule's promotion score."""
    amount = _unit(support.evidence / FULL_EVIDENCE)
    variety = _unit(support.types / FULL_TYPES)
    signals = {
        "relevance": _unit(support.confidence),
        "frequency": _saturating(support.recalls, FULL_RECALLS),
        "query_diversity": _saturating(support.queries, FULL_QUERIES),
        "recency": _recency(support.age_days),
        "consolidation": _unit(support.runs / FULL_RUNS),
        "richness": 0.3 * amount + 0.7 * variety,
    }
    composite = sum(WEIGHTS[name] * value for name, value in signals.items())
    passed = (
        composite >= GATE_SCORE
        and support.recalls >= GATE_RECALLS
        and support.queries >= GATE_QUERIES
    )
    rounded = {name: round(value, 4) for name, value in signals.items()}
    return Score(round(composite, 4), rounded, passed)

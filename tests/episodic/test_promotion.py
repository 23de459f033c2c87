"""The promotion score: hand-computed values, and gates that can be passed."""

from __future__ import annotations

import math

import pytest

from episodic.consolidation import promotion
from episodic.consolidation.promotion import Support


def test_the_weights_are_a_whole() -> None:
    assert math.isclose(sum(promotion.WEIGHTS.values()), 1.0)


def test_nothing_known_scores_nothing() -> None:
    result = promotion.score(Support(confidence=0.0))
    assert result.composite == 0.0
    assert not result.is_promoted


def test_a_score_by_hand() -> None:
    support = Support(
        confidence=0.8, recalls=7, queries=3, age_days=14, runs=2, evidence=4, types=2
    )
    result = promotion.score(support)
    assert result.signals == {
        "relevance": 0.8,
        "frequency": round(math.log(8) / math.log(31), 4),
        "query_diversity": round(math.log(4) / math.log(11), 4),
        "recency": 0.5,
        "consolidation": 0.4,
        "richness": 0.5,
    }
    by_hand = 0.24 + 0.24 * 0.605555 + 0.15 * 0.578126 + 0.075 + 0.04 + 0.03
    assert result.composite == pytest.approx(by_hand, abs=1e-4)


def test_the_gates_can_be_reached() -> None:
    best = Support(
        confidence=1.0, recalls=30, queries=10, age_days=0, runs=5, evidence=8, types=4
    )
    assert promotion.score(best).composite == 1.0
    real = Support(
        confidence=0.9, recalls=12, queries=5, age_days=2, runs=3, evidence=6, types=3
    )
    assert promotion.score(real).is_promoted


@pytest.mark.parametrize("short", [{"recalls": 2}, {"queries": 2}])
def test_a_high_score_alone_is_not_enough(short: dict[str, int]) -> None:
    counts = {"recalls": 30, "queries": 10} | short
    support = Support(confidence=1.0, age_days=0, runs=5, evidence=8, types=4, **counts)
    result = promotion.score(support)
    assert result.composite >= promotion.GATE_SCORE or short == {"recalls": 2}
    assert not result.is_promoted


def test_odd_numbers_do_no_harm() -> None:
    odd = Support(confidence=math.nan, recalls=-3, age_days=math.nan, runs=99)
    result = promotion.score(odd)
    assert result.signals["relevance"] == 0.0
    assert result.signals["frequency"] == 0.0
    assert result.signals["recency"] == 0.0
    assert result.signals["consolidation"] == 1.0
    future = promotion.score(Support(confidence=2.0, age_days=-5))
    assert future.signals["recency"] == future.signals["relevance"] == 1.0

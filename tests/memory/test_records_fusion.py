"""Two rankings of records made one score."""

from __future__ import annotations

import pytest

from memory.records import fusion
from memory.rules.fusion import Fusion


def test_the_best_comes_first_and_equals_in_the_order_of_places() -> None:
    assert fusion.order({3: 0.5, 1: 0.9, 2: 0.5, 0: 0.1}) == [1, 2, 3, 0]
    assert fusion.order({}) == []


def test_reciprocal_ranks_are_shared_by_the_rankings() -> None:
    scores = fusion.fuse({0: 5.0, 1: 4.0}, {1: 0.9, 2: 0.8}, Fusion.RRF)
    assert scores == pytest.approx({0: 1 / 2, 1: 61 / 62 / 2 + 1 / 2, 2: 61 / 62 / 2})


@pytest.mark.parametrize("method", list(Fusion))
def test_without_vectors_the_words_alone_decide(method: Fusion) -> None:
    scores = fusion.fuse({4: 2.0, 2: 7.0}, None, method)
    assert scores == pytest.approx({2: 1.0, 4: 61 / 62})


@pytest.mark.parametrize("method", list(Fusion))
def test_a_small_cosine_alone_is_no_hit(method: Fusion) -> None:
    cosines = {0: 0.9, 1: 0.1, 2: 0.0999}
    assert set(fusion.fuse({}, cosines, method)) == {0, 1}
    assert set(fusion.fuse({2: 1.0}, cosines, method)) == {0, 1, 2}
    assert fusion.fuse({}, {}, method) == {}


def test_convex_is_half_and_half_of_what_is_scaled() -> None:
    scores = fusion.fuse({0: 8.0, 1: 2.0}, {0: 0.2, 1: 0.6, 2: 0.4}, Fusion.CONVEX)
    assert scores == pytest.approx({0: 0.5, 1: 0.5 + 0.125, 2: 0.25})


def test_convex_takes_the_real_score_of_a_hit_of_words() -> None:
    # 0.05 is no hit by itself; of a hit by words it counts, here as the lowest.
    scores = fusion.fuse({0: 4.0, 2: 1.0}, {0: 0.05, 1: 0.45, 2: 0.25}, Fusion.CONVEX)
    assert scores == pytest.approx({0: 0.5, 1: 0.5, 2: 0.25 + 0.125})


def test_equal_cosines_count_whole_and_a_missing_one_nothing() -> None:
    scores = fusion.fuse({5: 0.0}, {0: 0.5, 1: 0.5}, Fusion.CONVEX)
    assert scores == pytest.approx({0: 0.5, 1: 0.5, 5: 0.0})

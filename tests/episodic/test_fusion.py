"""Two ranked lists made one, and the score that adds up what is known of an entry."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from episodic.recall import fusion

LEG = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)


def order(scores: dict[str, float]) -> str:
    """Return the ids, best first."""
    return "".join(sorted(scores, key=lambda e: (-scores[e], e)))


def test_the_worked_example_of_the_document() -> None:
    scores = fusion.rrf(["abc", "bd"])
    assert order(scores) == "badc"
    assert scores["b"] == pytest.approx(1 / 62 + 1 / 61)
    assert [round(scores[e], 5) for e in "badc"] == [0.03252, 0.01639, 0.01613, 0.01587]


def test_empty_rankings() -> None:
    assert fusion.rrf([]) == fusion.rrf([[], []]) == {}
    assert order(fusion.rrf(["ab", ""])) == "ab"


@given(LEG, LEG)
def test_neither_leg_comes_first(first: list[str], second: list[str]) -> None:
    assert fusion.rrf([first, second]) == pytest.approx(fusion.rrf([second, first]))


@given(LEG, LEG)
def test_a_better_rank_never_scores_less(first: list[str], second: list[str]) -> None:
    scores = fusion.rrf([first, second])
    assert set(scores) == {*first, *second}
    for ranking in (first, second):
        only = [e for e in ranking if e not in (set(first) & set(second))]
        assert all(scores[a] > scores[b] for a, b in pairwise(only))

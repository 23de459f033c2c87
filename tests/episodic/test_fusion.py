"""Two ranked lists made one, and the score that adds up what is known of an entry."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from episodic.recall import fusion
from episodic.recall.fusion import Parts
from memory.rules import convex as rules

if TYPE_CHECKING:
    Signals = rules.Signals[str]
else:
    # A class with slots cannot be called by its alias.
    Signals = rules.Signals

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


# ── convex ───────────────────────────────────────────────────────────────────
# What a perfect entry has before it is divided: 1.1 for itself, 0.16 of each of two
# perfect neighbours, 0.4 of its conversation, 0.1 for each of two preferences, × 1.25.
PERFECT = (1.1 * 1.32 * 1.4 + 0.2) * 1.25


def convex(
    signals: dict[str, Signals], candidates: str = "", low: float = 0, high: float = 1
) -> dict[str, Parts]:
    names = list(candidates or signals)
    return fusion.convex(signals, names, lowest=low, highest=high)


def test_one_entry_by_hand() -> None:
    signals = {
        "a": Signals(meaning=0.5, words=6.0, context=1.0, length=40),
        "b": Signals(meaning=0.0, words=12.0, context=4.0, length=0),
    }
    own = 0.4 * 0.5 + 0.3 * 6 / 12 + 0.3 * 1 / 4 + 0.1
    parts = convex(signals)["a"]
    assert parts.meaning == pytest.approx(0.2 / PERFECT)
    assert parts.words == pytest.approx(0.15 / PERFECT)
    assert parts.context == pytest.approx(0.075 / PERFECT)
    assert parts.substance == pytest.approx(0.1 / PERFECT)
    assert parts.conversation == pytest.approx(0.4 * own / PERFECT)
    assert (parts.neighbours, parts.preference) == (0, 0)
    assert parts.total == pytest.approx(1.4 * own / PERFECT)


def test_a_perfect_entry_has_one_and_none_has_more() -> None:
    best = Signals(
        meaning=0.9, words=5, context=5, length=99, importance=1, thread=7, preference=2
    )
    signals = {
        "a": replace(best, after="b"),
        "b": replace(best, before="a", after="c"),
        "c": replace(best, before="b"),
    }
    scores = {e: parts.total for e, parts in convex(signals, high=0.9).items()}
    assert scores["b"] == pytest.approx(1)
    assert scores["a"] == scores["c"] < scores["b"]


def test_what_no_ranking_has_is_not_zero() -> None:
    """A candidate of one ranking has its real values in the others."""
    signals = {
        "a": Signals(meaning=0.9, words=1.0, length=40),
        "b": Signals(meaning=0.1, words=1.1, length=40),
    }
    parts = convex(signals)
    assert parts["a"].words == pytest.approx(0.3 / 1.1 / PERFECT)
    assert parts["a"].total > parts["b"].total > 0


def test_meaning_is_scaled_over_the_scope_and_stays_inside() -> None:
    signals = {
        name: Signals(meaning=value)
        for name, value in {"a": 0.3, "b": -0.2, "c": 0.05, "d": 9.0, "e": -9.0}.items()
    }
    parts = convex(signals, low=-0.2, high=0.3)
    plain = [parts[name].plain(0.5).meaning for name in "abcde"]
    assert plain == pytest.approx([0.4, 0, 0.2, 0.4, 0])
    # Nothing to tell apart: the only entry in scope is the nearest one.
    assert convex({"a": Signals(meaning=0.3)}, low=0.3, high=0.3)["a"].plain(
        0.5
    ).meaning == pytest.approx(0.4)


def test_without_a_vector_the_other_values_decide() -> None:
    signals = {
        "a": Signals(words=4, context=2, length=40),
        "b": Signals(meaning=1.0, words=4, context=2, length=40),
    }
    parts = {e: p.plain(0.5) for e, p in convex(signals).items()}
    assert (parts["a"].meaning, parts["b"].meaning) == pytest.approx((0, 0.4))
    assert (parts["a"].words, parts["a"].context) == pytest.approx((0.5, 0.5))
    assert parts["a"].total == pytest.approx(parts["b"].total)


def test_neighbours_count_also_when_no_ranking_found_them() -> None:
    signals = {
        "a": Signals(words=2, before="x", after="y"),
        "x": Signals(words=4, length=40, before="z", after="a"),
        "y": Signals(words=0),
    }
    parts = convex(signals, "a")
    assert set(parts) == {"a"}
    scale = 1 / 0.6
    assert parts["a"].plain(0.5).neighbours == pytest.approx(0.16 * (0.3 * scale + 0.1))
    # Out of scope: named by nobody, and worth nothing.
    alone = convex({"a": signals["a"], "y": signals["y"]}, "a")
    assert alone["a"].neighbours == 0


def test_a_conversation_is_a_trace_and_nothing_else() -> None:
    strong, weak = Signals(words=10, length=40), Signals(words=1)
    parts = convex(
        {
            "a": replace(strong, thread=5),
            "b": replace(weak, thread=5),
            "c": weak,
            "d": replace(weak, thread=0),
            "e": replace(strong, words=9),
        }
    )
    plain = {e: p.plain(0.5) for e, p in parts.items()}
    best = plain["a"].words + plain["a"].substance
    assert plain["b"].conversation == pytest.approx(0.4 * best)
    # Its own, also where the trace of another has the number 0.
    for alone in "cd":
        assert plain[alone].conversation == pytest.approx(0.4 * plain[alone].words)
    zero = convex({"a": replace(strong, thread=0), "b": weak})["b"].plain(0.5)
    assert zero.conversation == pytest.approx(0.4 * zero.words)


@pytest.mark.parametrize(
    ("importance", "factor"), [(0.0, 0.75), (0.5, 1.0), (1.0, 1.25)]
)
def test_importance_multiplies_everything(importance: float, factor: float) -> None:
    of = Signals(meaning=0.5, words=1, context=1, length=9, preference=1)
    ordinary = convex({"a": of})["a"]
    parts = convex({"a": replace(of, importance=importance)})["a"]
    assert parts.total == pytest.approx(factor * ordinary.total)
    for name in fusion.weights():
        plain = getattr(parts.plain(importance), name)
        assert plain == pytest.approx(getattr(ordinary.plain(0.5), name))


def test_a_preference_adds_a_tenth_each() -> None:
    of = Signals(meaning=0.5)
    for value in (0.0, 0.37, 1.0, 2.0):
        parts = convex({"a": replace(of, preference=value)})["a"]
        assert parts.plain(0.5).preference == pytest.approx(0.1 * value)


def test_nothing_to_rank() -> None:
    assert convex({}) == {}
    assert convex({"a": Signals()}, low=0, high=0)["a"].total == 0


SIGNALS = st.builds(
    Signals,
    meaning=st.none() | st.floats(-1, 1) | st.just(float("nan")),
    words=st.floats(0, 1e6),
    context=st.floats(0, 1e6),
    length=st.integers(0, 10**9),
    importance=st.floats(0, 1),
    before=st.none() | st.sampled_from("abcdx"),
    after=st.none() | st.sampled_from("abcdx"),
    thread=st.none() | st.integers(-1, 1),
    preference=st.floats(0, 2),
)


@given(
    st.dictionaries(st.sampled_from("abcd"), SIGNALS),
    st.floats(-1, 1),
    st.floats(-1, 1),
    st.randoms(),
)
def test_scores_lie_in_the_unit_and_know_no_order(
    signals: dict[str, Signals], low: float, high: float, rng: Random
) -> None:
    scores = convex(signals, low=low, high=high)
    assert set(scores) == set(signals)
    assert all(0 <= parts.total <= 1 + 1e-9 for parts in scores.values())
    shuffled = list(signals)
    rng.shuffle(shuffled)
    again = {name: signals[name] for name in shuffled}
    assert convex(again, low=low, high=high) == scores

"""The fusion convex, by hand-computed cases and properties."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.rules import convex
from memory.rules.convex import Parts, Signals

# What a perfect entry has before it is divided: 1 for how it fits, 0.16 of that of each
# of two perfect neighbours, 0.2 for its substance, 0.6 of all this for its
# conversation, 0.1 for each of two preferences, × 1.1.
PERFECT = ((1.0 * 1.32 + 0.2) * 1.6 + 0.2) * 1.1


def fused_parts(
    signals: dict[str, Signals],
    candidates: str = "",
    low: float = 0,
    high: float = 1,
) -> dict[str, Parts]:
    names = list(candidates or signals)
    return convex.fuse(signals, names, lowest=low, highest=high)


def test_one_entry_by_hand() -> None:
    signals = {
        "a": Signals(meaning=0.5, words=6.0, context=1.0, length=40),
        "b": Signals(meaning=0.0, words=12.0, context=4.0, length=0),
    }
    own = 0.4 * 0.5**1.3 + 0.3 * 6 / 12 + 0.3 * 1 / 4 + 0.2
    parts = fused_parts(signals)["a"]
    assert parts.meaning == pytest.approx(0.4 * 0.5**1.3 / PERFECT)
    assert parts.words == pytest.approx(0.15 / PERFECT)
    assert parts.context == pytest.approx(0.075 / PERFECT)
    assert parts.substance == pytest.approx(0.2 / PERFECT)
    assert parts.conversation == pytest.approx(0.6 * own / PERFECT)
    assert (parts.neighbours, parts.preference) == (0, 0)
    assert parts.total == pytest.approx(1.6 * own / PERFECT)


def test_a_perfect_entry_has_one_and_none_has_more() -> None:
    best = Signals(
        meaning=0.9, words=5, context=5, length=99, importance=1, thread=7, preference=2
    )
    signals = {
        "a": replace(best, after="b"),
        "b": replace(best, before="a", after="c"),
        "c": replace(best, before="b"),
    }
    scores = {e: parts.total for e, parts in fused_parts(signals, high=0.9).items()}
    assert scores["b"] == pytest.approx(1)
    assert scores["a"] == scores["c"] < scores["b"]


def test_what_no_ranking_has_is_not_zero() -> None:
    """A candidate of one ranking has its real values in the others."""
    signals = {
        "a": Signals(meaning=0.9, words=1.0, length=40),
        "b": Signals(meaning=0.1, words=1.1, length=40),
    }
    parts = fused_parts(signals)
    assert parts["a"].words == pytest.approx(0.3 / 1.1 / PERFECT)
    assert parts["a"].total > parts["b"].total > 0


def test_meaning_is_scaled_over_the_scope_and_stays_inside() -> None:
    signals = {
        name: Signals(meaning=value)
        for name, value in {"a": 0.3, "b": -0.2, "c": 0.05, "d": 9.0, "e": -9.0}.items()
    }
    parts = fused_parts(signals, low=-0.2, high=0.3)
    plain = [parts[name].plain(0.5).meaning for name in "abcde"]
    assert plain == pytest.approx([0.4, 0, 0.4 * 0.5**1.3, 0.4, 0])
    # Nothing to tell apart: the only entry in scope is the nearest one.
    assert fused_parts({"a": Signals(meaning=0.3)}, low=0.3, high=0.3)["a"].plain(
        0.5
    ).meaning == pytest.approx(0.4)


@given(st.floats(0, 1))
def test_how_near_an_entry_is_can_be_read_from_its_part(share: float) -> None:
    parts = fused_parts({"a": Signals(meaning=share)})["a"].plain(0.5)
    assert convex.meaning_share(parts.meaning) == pytest.approx(share, abs=1e-6)


def test_without_a_vector_the_other_values_decide() -> None:
    signals = {
        "a": Signals(words=4, context=2, length=40),
        "b": Signals(meaning=1.0, words=4, context=2, length=40),
    }
    parts = {e: p.plain(0.5) for e, p in fused_parts(signals).items()}
    assert (parts["a"].meaning, parts["b"].meaning) == pytest.approx((0, 0.4))
    assert (parts["a"].words, parts["a"].context) == pytest.approx((0.5, 0.5))
    assert parts["a"].total == pytest.approx(parts["b"].total)


def test_neighbours_count_also_when_no_ranking_found_them() -> None:
    signals = {
        "a": Signals(words=2, before="x", after="y"),
        "x": Signals(words=4, length=40, before="z", after="a"),
        "y": Signals(words=0),
    }
    parts = fused_parts(signals, "a")
    assert set(parts) == {"a"}
    scale = 1 / 0.6
    # How much a neighbour says is no reason for what stands beside it.
    assert parts["a"].plain(0.5).neighbours == pytest.approx(0.16 * 0.3 * scale)
    # Out of scope: named by nobody, and worth nothing.
    solo = fused_parts({"a": signals["a"], "y": signals["y"]}, "a")
    assert solo["a"].neighbours == 0


def test_a_conversation_is_a_trace_and_nothing_else() -> None:
    strong, weak = Signals(words=10, length=40), Signals(words=1)
    parts = fused_parts(
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
    assert plain["b"].conversation == pytest.approx(0.6 * best)
    # Its own, also where the trace of another has the number 0.
    for solo in "cd":
        assert plain[solo].conversation == pytest.approx(0.6 * plain[solo].words)
    zero = fused_parts({"a": replace(strong, thread=0), "b": weak})["b"].plain(0.5)
    assert zero.conversation == pytest.approx(0.6 * zero.words)


@pytest.mark.parametrize(("importance", "factor"), [(0.0, 0.9), (0.5, 1.0), (1.0, 1.1)])
def test_importance_multiplies_everything(importance: float, factor: float) -> None:
    of = Signals(meaning=0.5, words=1, context=1, length=9, preference=1)
    ordinary = fused_parts({"a": of})["a"]
    parts = fused_parts({"a": replace(of, importance=importance)})["a"]
    assert parts.total == pytest.approx(factor * ordinary.total)
    for name in convex.weights():
        plain = getattr(parts.plain(importance), name)
        assert plain == pytest.approx(getattr(ordinary.plain(0.5), name))


def test_a_preference_adds_a_tenth_each() -> None:
    of = Signals(meaning=0.5)
    for value in (0.0, 0.37, 1.0, 2.0):
        parts = fused_parts({"a": replace(of, preference=value)})["a"]
        assert parts.plain(0.5).preference == pytest.approx(0.1 * value)


def test_nothing_to_rank() -> None:
    assert fused_parts({}) == {}
    assert fused_parts({"a": Signals()}, low=0, high=0)["a"].total == 0


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
    scores = fused_parts(signals, low=low, high=high)
    assert set(scores) == set(signals)
    assert all(0 <= parts.total <= 1 + 1e-9 for parts in scores.values())
    shuffled = list(signals)
    rng.shuffle(shuffled)
    repeat = {name: signals[name] for name in shuffled}
    assert fused_parts(repeat, low=low, high=high) == scores

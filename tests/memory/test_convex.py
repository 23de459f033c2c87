"""The arithmetic of the fusion ``convex``."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.rules import convex
from memory.rules.convex import Signals

PERFECT = ((1.0 * 1.32 + 0.2) * 1.6 + 0.2) * 1.1


def test_the_shares_of_one_entry() -> None:
    """Alone it is the best by everything; at 0.5 its importance changes nothing."""
    signals: dict[str, Signals] = {
        "a": Signals(meaning=0.3, words=2.0, context=4.0, length=40)
    }
    [parts] = convex.fuse(signals, ["a"], lowest=-0.1, highest=0.7).values()
    assert parts.meaning == pytest.approx(0.4 * 0.5**1.3 / PERFECT)
    assert parts.words == parts.context == pytest.approx(0.3 / PERFECT)
    assert parts.substance == pytest.approx(0.2 / PERFECT)
    assert parts.neighbours == parts.preference == 0
    own = 0.4 * 0.5**1.3 + 0.3 + 0.3 + 0.2
    assert parts.conversation == pytest.approx(0.6 * own / PERFECT)
    assert parts.total == pytest.approx(1.6 * own / PERFECT)


def test_without_a_vector_the_other_values_count_for_it() -> None:
    signals: dict[str, Signals] = {
        "a": Signals(words=2.0, context=4.0),
        "b": Signals(meaning=1.0, words=2.0, context=4.0),
    }
    parts = convex.fuse(signals, ["a", "b"], lowest=0, highest=1)
    assert parts["a"].total == pytest.approx(parts["b"].total)
    assert parts["a"].meaning == 0


def test_only_candidates_speak_for_a_conversation_and_all_for_those_beside() -> None:
    signals = {
        "a": Signals(words=1.0, after="b", thread=7),
        "b": Signals(words=4.0, before="a", thread=7),
        "c": Signals(words=1.0, before="elsewhere", thread=7),
    }
    parts = convex.fuse(signals, ["c", "a"], lowest=0, highest=0)
    # No meaning: words and context share its weight.
    single = 0.3 / 4 * (1.0 / 0.6)
    neighbours = 0.16 * 4 * single
    assert list(parts) == ["c", "a"]
    assert parts["a"].neighbours == pytest.approx(neighbours / PERFECT)
    assert parts["c"].neighbours == 0
    for entry in parts.values():
        assert entry.conversation == pytest.approx(
            0.6 * (single + neighbours) / PERFECT
        )


def test_nothing_gives_nothing() -> None:
    none: dict[int, Signals] = {}
    assert convex.fuse(none, [], lowest=0, highest=0) == {}
    single: dict[int, Signals] = {1: Signals()}
    [parts] = convex.fuse(single, [1], lowest=0, highest=0).values()
    assert parts.total == 0


UNIT = st.floats(0, 1)
ENTRY = st.fixed_dictionaries(
    {
        "meaning": st.one_of(st.none(), st.floats(-1, 1)),
        "words": st.floats(0, 50),
        "context": st.floats(0, 50),
        "length": st.integers(0, 65_535),
        "importance": UNIT,
        "before": st.one_of(st.none(), st.integers(0, 7)),
        "after": st.one_of(st.none(), st.integers(0, 7)),
        "thread": st.one_of(st.none(), st.integers(-3, 3)),
        "preference": st.floats(0, 2),
    }
)


@given(st.lists(ENTRY, max_size=6), st.sets(st.integers(0, 5)))
def test_scores_lie_in_the_unit(rows: list[dict[str, Any]], asked: set[int]) -> None:
    signals: dict[int, Signals] = {n: Signals(**row) for n, row in enumerate(rows)}
    candidates = [n for n in asked if n in signals]
    parts = convex.fuse(signals, candidates, lowest=-0.5, highest=0.5)
    assert list(parts) == candidates
    assert all(-1e-9 <= part.total <= 1 + 1e-9 for part in parts.values())

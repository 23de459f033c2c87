"""What words and vectors say of records made one score."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.records import fusion
from memory.records.fusion import Vectors, Words
from memory.rules import convex
from memory.rules.fusion import Fusion
from memory.word_index.texts import Links, Scores


def words(weights: list[float], threads: Any = (), holds: Any = ()) -> Words:
    """Return words of which each weighs so much; without weight it is in no text."""
    size = len(weights)
    own = np.array(weights, dtype=np.float32)
    empty = np.zeros(size, dtype=np.float32)
    thread = np.full(size, -1)
    for number, members in enumerate(threads):
        thread[list(members)] = number
    is_held = np.zeros(size, dtype=np.bool_)
    is_held[list(holds)] = True
    scores = Scores(own, empty, empty, np.zeros(size, np.int64), own.clip(0, 1) / 2)
    return Words(scores, Links.of(threads, size), thread, is_held)


def vectors(cosines: list[float | None]) -> Vectors:
    values = np.array(cosines, dtype=np.float64)
    return Vectors(values, values)


def test_the_best_comes_first_and_equals_in_the_order_of_places() -> None:
    assert fusion.order({3: 0.5, 1: 0.9, 2: 0.5, 0: 0.1}) == [1, 2, 3, 0]
    assert fusion.order({}) == []


def test_reciprocal_ranks_are_shared_by_the_rankings() -> None:
    close = vectors([None, 0.9, 0.8])
    scores = fusion.fuse(words([5.0, 4.0, 0.0]), close, Fusion.RRF)
    assert scores == pytest.approx({0: 1 / 2, 1: 61 / 62 / 2 + 1 / 2, 2: 61 / 62 / 2})


def test_rrf_without_vectors_is_the_ranking_by_words() -> None:
    scores = fusion.fuse(words([2.0, 0.0, 7.0]), None, Fusion.RRF)
    assert scores == pytest.approx({2: 1.0, 0: 61 / 62})


@pytest.mark.parametrize("method", list(Fusion))
def test_without_vectors_the_words_alone_decide(method: Fusion) -> None:
    scores = fusion.fuse(words([1.0, 0.0, 2.0]), None, method)
    assert fusion.order(scores) == [2, 0]
    assert fusion.fuse(words([]), None, method) == {}


@pytest.mark.parametrize("method", list(Fusion))
def test_a_small_cosine_alone_is_no_hit(method: Fusion) -> None:
    close = vectors([0.9, 0.1, 0.0999, None])
    assert set(fusion.fuse(words([0, 0, 0, 0]), close, method)) == {0, 1}
    assert set(fusion.fuse(words([0, 0, 1.0, 0]), close, method)) == {0, 1, 2}
    assert fusion.fuse(words([]), vectors([]), method) == {}


def test_convex_adds_the_shares_of_what_is_scaled() -> None:
    close = vectors([0.2, 0.6, 0.4])
    scores = fusion.fuse(words([8.0, 2.0, 0.0]), close, Fusion.CONVEX)
    # Of 0.4 for meaning and 0.3 for words; its own share counts as its conversation's.
    own = {0: 0.3, 1: 0.4 + 0.3 / 4, 2: 0.4 * 0.5**1.3}
    perfect = ((1.0 * 1.32 + 0.2) * 1.6 + 0.2) * 1.1
    assert scores == pytest.approx({n: 1.6 * v / perfect for n, v in own.items()})


def test_a_conversation_and_those_beside_speak_for_a_record() -> None:
    close = vectors([0.5, 0.5, 0.5, 0.9, 0.5])
    solo = fusion.fuse(words([0.1, 0.1, 0.1, 9.0, 0.1]), close, Fusion.CONVEX)
    assert solo[0] == solo[1] == solo[2] == solo[4]
    turns = words([0.1, 0.1, 0.1, 9.0, 0.1], threads=[[3, 1, 0]])
    scores = fusion.fuse(turns, close, Fusion.CONVEX)
    assert fusion.order(scores) == [3, 1, 0, 2, 4]


def test_a_piece_of_a_text_counts_as_its_best_words() -> None:
    turns = words([0.0, 3.0, 0.0], holds=[0])
    assert turns.share.tolist() == [1.0, 0.5, 0.0]
    assert turns.weight.tolist() == [3.0, 3.0, 0.0]
    assert words([0.0], holds=[0]).weight.tolist() == [1.0]


@given(
    st.lists(
        st.tuples(
            st.floats(0, 50), st.one_of(st.none(), st.floats(-1, 1)), st.booleans()
        ),
        max_size=8,
    )
)
def test_convex_is_what_the_arithmetic_by_key_gives(
    rows: list[tuple[float, float | None, bool]],
) -> None:
    thread = [place for place, row in enumerate(rows) if row[2]]
    turns = words([float(np.float32(row[0])) for row in rows], threads=[thread])
    close = vectors([row[1] for row in rows])
    scores = fusion.fuse(turns, close, Fusion.CONVEX)
    neighbours = dict(itertools.pairwise(thread))
    before = {b: a for a, b in neighbours.items()}
    signals = {
        place: convex.Signals(
            meaning=row[1],
            words=float(turns.weight[place]),
            before=before.get(place),
            after=neighbours.get(place),
            thread=1 if row[2] else None,
        )
        for place, row in enumerate(rows)
    }
    cosines = [row[1] for row in rows if row[1] is not None]
    parts = convex.fuse(
        signals,
        list(scores),
        lowest=min(cosines, default=1.0),
        highest=max(cosines, default=-1.0),
    )
    assert scores == pytest.approx({n: part.total for n, part in parts.items()})
    assert all(0 <= score <= 1 for score in scores.values())

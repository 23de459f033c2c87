"""Words of texts at hand: the same as those that are stored, and the naive way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import fulltext
from memory.word_index import bm25, terms, texts
from memory.word_index.texts import Links, Scores

PIECES = st.sampled_from(
    "refund refunds refunded fund the of to İstanbul café cafe\u0301 Σίσυφος ΣΊΣΥΦΟΣ"
    " 帐篷 红色的帐篷 a_b b2 x-ray _ \x00 gift card".split(" ")
)
TEXTS = st.lists(st.lists(PIECES, max_size=8).map(" ".join), max_size=7)


@given(TEXTS)
def test_split_together_is_split_one_by_one(parts: list[str]) -> None:
    term_lists = texts.terms_of(parts)
    for number, part in enumerate(parts):
        own_rows = term_lists.terms[term_lists.text == number].tolist()
        assert own_rows == terms.of_text("", part.replace("\x00", " "))
    assert term_lists.lengths.sum() == len(term_lists.terms)


def _naive(query: str, parts: list[str], threads: list[list[int]]) -> list[list[float]]:
    """Return own, pairs, context and share of each text, word by word."""
    request = fulltext.word_query(query)
    numbers = list(terms.of_words(request.terms))
    bags = [terms.of_text("", part.replace("\x00", " ")) for part in parts]
    average = max(1.0, sum(map(len, bags)) / max(1, len(bags)))
    weight = {t: bm25.idf(len(bags), sum(t in bag for bag in bags)) for t in numbers}

    def saturated(count: int, norm: float, term: int) -> float:
        return weight[term] * count * (bm25.K1 + 1) / (count + norm)

    rows = []
    for place, bag in enumerate(bags):
        window = list(bag)
        for thread in threads:
            if place in thread:
                at = thread.index(place)
                rest = [*thread[max(0, at - 3) : at], *thread[at + 1 : at + 3]]
                window += [term for other in rest for term in bags[other]]
        long = bm25.K1 * (1 - bm25.B + bm25.B * len(bag) / average)
        pairs = {
            (terms.of_word(a)[-1], terms.of_word(b)[0]): None
            for a, b in request.pairs
            if terms.of_word(a) and terms.of_word(b)
        }
        rows.append(
            [
                sum(saturated(bag.count(t), long, t) for t in numbers),
                sum(
                    max(weight.get(a, 0.0), weight.get(b, 0.0))
                    for a, b in pairs
                    if any(bag[n : n + 2] == [a, b] for n in range(len(bag) - 1))
                ),
                sum(saturated(window.count(t), bm25.K1, t) for t in numbers),
                sum(t in bag for t in numbers) / max(1, len(numbers)),
            ]
        )
    return rows


def _rows(scores: Scores) -> list[list[float]]:
    columns = (scores.own, scores.pairs, scores.context, scores.share)
    return [list(map(float, row)) for row in zip(*columns, strict=True)]


@given(st.lists(PIECES, max_size=6).map(" ".join), TEXTS, st.integers(0, 7))
def test_scores_are_what_the_naive_way_gives(
    query: str, parts: list[str], cut: int
) -> None:
    order = list(range(len(parts)))
    threads = [thread for thread in (order[:cut], order[:cut:-1]) if thread]
    links = Links.of(threads, len(parts))
    request = fulltext.word_query(query)
    naive = _naive(query, parts, threads)
    at_hand = texts.score(request, texts.terms_of(parts), links)
    blobs = [terms.words_of("", part.replace("\x00", " ")) for part in parts]
    stored = texts.score_stored(request, blobs, links, {})
    for scores in (at_hand, stored):
        assert len(naive) == len(scores.own)
        for row, expected in zip(_rows(scores), naive, strict=True):
            assert row == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_the_best_words_by_hand() -> None:
    """Two of three texts hold the rarer word, one of them beside the other word."""
    parts = ["gift card", "card for a gift", "card"]
    scores = texts.score(
        fulltext.word_query("gift card"), texts.terms_of(parts), Links.of([], 3)
    )
    gift, card = np.log1p(1.5 / 2.5), np.log1p(0.5 / 3.5)
    assert scores.pairs.tolist() == pytest.approx([gift, 0, 0])
    average = (2 + 4 + 1) / 3
    norm = 0.9 * (0.5 + 0.5 * 2 / average)
    assert scores.own[0] == pytest.approx((gift + card) * 1.9 / (1 + norm))
    assert scores.share.tolist() == [1, 1, 0.5]
    assert scores.length.tolist() == [2, 4, 1]


def test_what_is_stored_once_too_often_is_taken_away() -> None:
    blobs = [terms.words_of("", text) for text in ("Ada: tea", "Ada: Ada drinks")]
    [ada] = terms.of_word("ada")
    scores = texts.score_stored(
        fulltext.word_query("ada"), blobs, Links.of([], 2), {0: [ada], 1: [ada]}
    )
    assert scores.share.tolist() == [0, 1]


def test_terms_side_by_side_are_of_one_text() -> None:
    term_lists = texts.terms_of(["red tent", "red", "tent red tent", ""])
    [red], [tent] = terms.of_word("red"), terms.of_word("tent")
    assert term_lists.holding([red, tent]).tolist() == [0, 2]
    assert term_lists.holding([tent, red]).tolist() == [2]
    assert term_lists.holding([]).tolist() == []
    assert texts.terms_of([]).holding([red]).tolist() == []

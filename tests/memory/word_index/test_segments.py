"""Segments say what a dictionary of lists would say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.word_index import segments, terms
from memory.word_index.segments import Segment

Lists = Sequence[Mapping[int, int]]
LISTS = st.lists(
    st.dictionaries(st.integers(0, 8), st.integers(1, 255), max_size=5), max_size=12
)


def _build(first: int, lists: Lists) -> Segment:
    return segments.build(first, len(lists), _keys(range(len(lists)), lists))


def _keys(rows: Sequence[int], lists: Lists) -> segments.Keys:
    texts = [[*Counter(counts).elements()] for counts in lists] or [[]]
    words = terms.unpack([terms.pack(text) for text in texts])
    places = np.repeat(np.array(rows or [0], dtype=np.int64), words.sizes)
    keys = segments.pack(places, words.terms, words.counts)
    keys.sort()
    return keys


def _content(segment: Segment) -> dict[int, list[tuple[int, int]]]:
    """Return term → (row, count) pairs, in order."""
    numbers = np.arange(10, dtype=np.uint32)
    return {
        number: list(
            zip(
                (segment.rows[a:b] + segment.first).tolist(),
                segment.counts[a:b].tolist(),
                strict=True,
            )
        )
        for number, (a, b) in enumerate(segment.ranges(numbers))
        if a < b
    }


def _expected(lists: Lists, first: int = 0) -> dict[int, list[tuple[int, int]]]:
    postings: dict[int, list[tuple[int, int]]] = {}
    for row, counts in enumerate(lists):
        for term, count in counts.items():
            postings.setdefault(term, []).append((first + row, count))
    return postings


@given(LISTS)
def test_a_segment_holds_its_postings(lists: Lists) -> None:
    assert _content(_build(100, lists)) == _expected(lists, 100)


@given(LISTS, LISTS)
def test_two_neighbours_are_one(first_lists: Lists, second_lists: Lists) -> None:
    segment = segments.merged(
        _build(50, first_lists), _build(50 + len(first_lists), second_lists)
    )
    assert _content(segment) == _expected([*first_lists, *second_lists], 50)
    assert (segment.first, segment.size) == (50, len(first_lists) + len(second_lists))


@given(LISTS, LISTS, st.sets(st.integers(0, 11)))
def test_rows_are_replaced(
    lists: Lists, replacements: Lists, numbers: set[int]
) -> None:
    rows = sorted(row for row in numbers if row < len(lists))
    before = _build(0, lists)
    fresh = [replacements[n] if n < len(replacements) else {} for n in range(len(rows))]
    result = dict(enumerate(lists)) | dict(zip(rows, fresh, strict=True))
    segment = segments.replaced(
        before, np.array(rows, dtype=np.int64), _keys(rows, fresh)
    )
    assert _content(segment) == _expected([result[n] for n in range(len(lists))])
    # Nothing is left of them in the arrays of those who still read the old ones.
    assert not before.counts[np.isin(before.rows, rows)].any()


@given(st.lists(LISTS, max_size=8))
def test_small_neighbours_are_merged(parts: list[Lists]) -> None:
    result: list[Segment] = []
    first = 0
    for lists in parts:
        result = segments.compacted([*result, _build(first, lists)])
        first += len(lists)
    merged: dict[int, list[tuple[int, int]]] = {}
    for segment in result:
        for term, pairs in _content(segment).items():
            merged.setdefault(term, []).extend(pairs)
    assert merged == _expected([counts for lists in parts for counts in lists])


def test_appending_leaves_few_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "MAX_ROWS", 64)
    result: list[Segment] = []
    for row in range(300):
        result = segments.compacted([*result, _build(row, [{row % 5: 1}])])
        assert all(segment.size <= 64 for segment in result)
    assert len(result) <= 300 // 32 + 8
    assert sum(segment.size for segment in result) == 300


def test_a_posting_takes_three_bytes() -> None:
    segment = _build(0, [dict.fromkeys(range(8), 1)] * 1_000)
    assert segment.nbytes < 8_000 * 3 + 100

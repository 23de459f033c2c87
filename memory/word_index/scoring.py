"""BM25 over a view of the index: the best entries of a scope, and named ones.

Terms are added up rarest first. Where those that remain, all together, can lift no
entry into the best any more that has none of the others, they are looked up for the
entries that can still be among the best and for no other: the answer is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory.word_index import bm25
from memory.word_index.bm25 import Floats
from memory.word_index.columns import SPEAKS, Mask, Rows
from memory.word_index.index import View
from memory.word_index.segments import MAX_KNOWN, Segment
from memory.word_index.threads import AFTER, BEFORE, WINDOW

# Fewer postings are added up faster than it takes to find out whether they matter.
MIN_SKIPPED: Final = 5_000
# A scope that is a smaller part of all rows is gone through by its own rows.
SMALL_SHARE: Final = 8
# Room for rounding: 32-bit sums in another order.
_MARGIN: Final = 1e-4


@dataclass(frozen=True, slots=True)
class Term:
    """A term's postings, per segment from and to, and its weight in this workspace."""

    number: int
    places: tuple[tuple[Segment, int, int], ...]
    posting_count: int
    max_count: int
    weight: float


@dataclass(frozen=True, slots=True)
class NamedScores:
    """The scores of some rows by their own words and by those of their windows.

    ``holds`` has a line per term of the scorer, and says which rows hold it.
    """

    own: Floats
    context: Floats
    holds: Mask


def terms_of(view: View, numbers: Sequence[int]) -> list[Term]:
    """Return the terms that occur at all, the rarest first."""
    distinct = np.unique(np.array(numbers, dtype=np.uint32))
    speaks: Mask | None = None
    places: list[list[tuple[Segment, int, int]]] = [[] for _ in distinct]
    for segment in view.segments:
        for index, (start, end) in enumerate(segment.ranges(distinct)):
            if start < end:
                places[index].append((segment, start, end))
    terms = []
    for number, parts in zip(distinct.tolist(), places, strict=True):
        if not parts:
            continue
        frequency = 0
        for segment, start, end in parts:
            frequency_here = segment.frequencies.get(number)
            if frequency_here is None:
                if speaks is None:
                    speaks = (view.columns.flags[: view.size] & SPEAKS) == SPEAKS
                frequency_here = _frequency(segment, start, end, speaks)
                if len(segment.frequencies) >= MAX_KNOWN:
                    segment.frequencies.clear()
                segment.frequencies[number] = frequency_here
            frequency += frequency_here
        terms.append(
            Term(
                number,
                tuple(parts),
                sum(end - start for _, start, end in parts),
                max(int(s.counts[start:end].max()) for s, start, end in parts),
                bm25.idf(view.entry_count, frequency),
            )
        )
    return sorted(terms, key=lambda term: (-term.weight, term.posting_count))


def _frequency(segment: Segment, start: int, end: int, speaks: Mask) -> int:
    part = speaks[segment.first : segment.first + segment.size]
    return int(np.count_nonzero(part[segment.rows[start:end]]))


class Scorer:
    """One question over one view and scope; ``mask`` says which rows are in it."""

    def __init__(self, view: View, mask: Mask, numbers: Sequence[int]) -> None:
        self.view, self.mask = view, mask
        self.considered = int(np.count_nonzero(mask))
        self._is_whole = self.considered == view.size
        # Those of a small scope; a large one is gone through as a whole.
        is_small = self.considered * SMALL_SHARE < view.size
        self._rows = np.flatnonzero(mask) if is_small else None
        self.terms = terms_of(view, numbers) if self.considered else []

    # ── The best ─────────────────────────────────────────────────────────────
    def best(self, limit: int) -> tuple[Rows, Floats]:
        """Return the best rows by their own words, best first, and their scores."""
        return self._best(limit, window=1)

    def best_windows(self, limit: int) -> tuple[Rows, Floats]:
        """Return the best rows by the words of their windows, and their scores."""
        return self._best(limit, window=WINDOW)

    def _best(self, limit: int, window: int) -> tuple[Rows, Floats]:
        sums = np.zeros(self.view.size, dtype=np.float32)
        bounds = [
            bm25.upper_limit(term.max_count, self.view.average, term.weight)
            if window == 1
            else bm25.window_upper_limit(window * term.max_count, term.weight)
            for term in self.terms
        ]
        candidates: Rows | None = None
        for number, term in enumerate(self.terms):
            rest = self.terms[number:]
            if number and sum(t.posting_count for t in rest) > MIN_SKIPPED:
                candidates = self._candidates(sums, sum(bounds[number:]), limit)
                if candidates is not None:
                    self._complete(sums, candidates, rest, window)
                    break
            if window == 1:
                self._add(sums, term)
            else:
                self._add_windows(sums, term)
        if candidates is None and self._rows is not None:
            candidates = self._rows[sums[self._rows] > 0]
        elif candidates is None:
            candidates = np.flatnonzero(sums)
        return self._top(candidates, sums[candidates], limit)

    def _candidates(self, sums: Floats, rest: float, limit: int) -> Rows | None:
        """Return the rows in scope that can be among the best; ``_only_candidates``."""
        if self._rows is None:
            return _only_candidates(sums, rest, limit)
        places = _only_candidates(sums[self._rows], rest, limit)
        return None if places is None else self._rows[places]

    def _postings(self, term: Term) -> tuple[Rows, NDArray[np.uint8]]:
        """Return the rows in scope that hold a term, and how often each does."""
        rows = np.empty(term.posting_count, dtype=np.int64)
        counts = np.empty(term.posting_count, dtype=np.uint8)
        at = 0
        for segment, start, end in term.places:
            to = at + end - start
            np.add(segment.rows[start:end], np.int64(segment.first), out=rows[at:to])
            counts[at:to] = segment.counts[start:end]
            at = to
        if self._is_whole:
            return rows, counts
        inside = np.flatnonzero(self.mask[rows])
        return rows[inside], counts[inside]

    def _add(self, sums: Floats, term: Term) -> None:
        rows, counts = self._postings(term)
        norm = bm25.norms(self.view.columns.length[rows], self.view.average)
        sums[rows] += bm25.saturation(counts, norm, term.weight)

    def _add_windows(self, sums: Floats, term: Term) -> None:
        """Add a term to every window that it is in: an entry's own and those beside."""
        own_rows, own_counts = self._postings(term)
        in_window = np.zeros(self.view.size, dtype=np.uint16)
        in_window[own_rows] = own_counts
        places = [own_rows]
        columns = self.view.columns
        # An entry is before those that follow it.
        for links, steps in ((columns.next, BEFORE), (columns.previous, AFTER)):
            rows, counts = own_rows, own_counts
            for _ in range(steps):
                rows = self.follow(rows, links)
                is_there = np.flatnonzero(rows >= 0)
                rows, counts = rows[is_there], counts[is_there]
                # No two entries have the same next one: no row is twice in ``rows``.
                in_window[rows] += counts
                places.append(rows)
        # A row that is here twice gets the same sum twice.
        rows = np.concatenate(places)
        if not self._is_whole:
            rows = rows[self.mask[rows]]
        sums[rows] += bm25.saturation(in_window[rows], bm25.WINDOW_NORM, term.weight)

    def follow(self, rows: Rows, links: NDArray[np.int32]) -> Rows:
        """Return the row that each row's link names, −1 for none in this view."""
        if not len(rows):
            return rows
        targets = links[rows]
        return np.where((rows >= 0) & (targets < self.view.size), targets, -1)

    def _windows(self, rows: Rows) -> Iterator[tuple[Rows, Mask]]:
        """Yield the rows of each place of the windows, and which of them count."""
        yield rows, np.ones(len(rows), dtype=np.bool_)
        columns = self.view.columns
        for links, steps in ((columns.previous, BEFORE), (columns.next, AFTER)):
            places = rows
            for _ in range(steps):
                places = self.follow(places, links)
                yield places, (places >= 0) & self.mask[places]

    def _top(self, rows: Rows, score: Floats, limit: int) -> tuple[Rows, Floats]:
        """Return the best rows, ties by newer first, then by id."""
        if limit <= 0:
            return rows[:0], score[:0]
        if len(score) > limit:
            edge = np.partition(score, len(score) - limit)[len(score) - limit]
            places = np.flatnonzero(score >= edge)
            rows, score = rows[places], score[places]
        columns = self.view.columns
        order = np.lexsort((columns.ids[rows], -columns.ts[rows], -score))[:limit]
        return rows[order], score[order]

    # ── Named rows ───────────────────────────────────────────────────────────
    def named(self, rows: Rows) -> NamedScores:
        """Return the scores of rows in scope, and which terms each row holds."""
        norm = bm25.norms(self.view.columns.length[rows], self.view.average)
        own, context = np.zeros((2, len(rows)), dtype=np.float32)
        holds = np.zeros((len(self.terms), len(rows)), dtype=np.bool_)
        counted = self._counts(list(self._windows(rows)), self.terms)
        for place, (term, counts) in enumerate(counted):
            total = counts.sum(axis=0, dtype=np.int64)
            own += bm25.saturation(counts[0], norm, term.weight)
            context += bm25.saturation(total, bm25.WINDOW_NORM, term.weight)
            holds[place] = counts[0] > 0
        return NamedScores(own, context, holds)

    def _complete(
        self, sums: Floats, rows: Rows, terms: Sequence[Term], window: int
    ) -> None:
        """Add some terms to the sums of some rows, which are in scope."""
        norm, places = bm25.WINDOW_NORM, list(self._windows(rows))
        if window == 1:
            norm = bm25.norms(self.view.columns.length[rows], self.view.average)
            places = places[:1]
        scores = sums[rows]
        for term, counts in self._counts(places, terms):
            total = counts.sum(axis=0, dtype=np.int64)
            scores += bm25.saturation(total, norm, term.weight)
        sums[rows] = scores

    def _counts(
        self, places: Sequence[tuple[Rows, Mask]], terms: Sequence[Term]
    ) -> Iterator[tuple[Term, NDArray[np.uint8]]]:
        """Yield, per term, how often it is at each place of the windows of rows."""
        # Those that do not count are asked for a row behind the last, which has none.
        row_numbers = np.concatenate(
            [np.where(counts, rows, self.view.size) for rows, counts in places]
        )
        # The two ways of looking up cost about the same here.
        is_dense = len(row_numbers) > self.view.size // 64
        order = None if is_dense else np.argsort(row_numbers, kind="stable")
        for term in terms:
            if order is None:
                counts = dense_counts(term, self.view.size)[row_numbers]
            else:
                counts = np.zeros(len(row_numbers), dtype=np.uint8)
                counts[order] = sorted_counts(term, row_numbers[order])
            yield term, counts.reshape(len(places), -1)


def _only_candidates(sums: Floats, rest: float, limit: int) -> Rows | None:
    """Return the rows that can be among the best, when no others can; else None.

    ``rest`` is the most that the terms which are not in the sums yet can add.
    """
    rest *= 1 + _MARGIN
    if limit <= 0 or not len(sums) or float(sums.max()) <= rest:
        return None
    above = sums[sums > rest]
    if len(above) < limit:
        return None
    edge = float(np.partition(above, len(above) - limit)[len(above) - limit])
    min_sum = edge * (1 - _MARGIN) - rest
    # Below 0 it would let in every row, also those that are not in scope.
    return np.flatnonzero(sums >= min_sum) if min_sum > 0 else None


def dense_counts(term: Term, size: int) -> NDArray[np.uint8]:
    """Return how often each row of a view holds a term, and 0 behind the last one."""
    counts = np.zeros(size + 1, dtype=np.uint8)
    for segment, start, end in term.places:
        part = counts[segment.first : segment.first + segment.size]
        part[segment.rows[start:end]] = segment.counts[start:end]
    return counts


def sorted_counts(term: Term, rows: Rows) -> NDArray[np.uint8]:
    """Return how often each of some rows, in order, holds a term."""
    counts = np.zeros(len(rows), dtype=np.uint8)
    for segment, start, end in term.places:
        low, high = np.searchsorted(
            rows, [segment.first, segment.first + segment.size]
        ).tolist()
        if low == high:
            continue
        local = (rows[low:high] - segment.first).astype(np.uint16)
        postings = segment.rows[start:end]
        at = np.searchsorted(postings, local)
        at[at == len(postings)] = 0
        is_there = postings[at] == local
        counts[low:high][is_there] = segment.counts[start:end][at[is_there]]
    return counts

"""A question's two passes over a view: a quick scan of all, then the exact few.

The scan knows each value within a slack. Every row whose value plus slack reaches the
``limit``-th best value minus slack may be among the best. Where one layer of the
question was scanned, these are scanned again with both; then they are compared exactly.
At most ``MOST_EXACT`` are, ``MOST_READ`` where they are not in memory (or twice the
limit): beyond that the best by the scan, which is no longer proved, though the slack is
the worst case and many times the usual error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from episodic.vectors.base import VectorHit
from episodic.vectors.cosine import Floats, Rows
from episodic.vectors.matrix import Columns, Snapshot
from episodic.vectors.quantised import LAYERS, Question
from memory.word_index.entry_rows import Ids

MOST_EXACT: Final = 400
# Each takes a hundredth of a millisecond to read.
MOST_READ: Final = 150
# From here on one layer of the question has to do: two take half as long again, which
# is more than asking again for those rows that one layer cannot tell apart.
ONE_LAYER_ROWS: Final = 20_000
# How many times the limit are looked at to find the value that the best surely have.
_TOP: Final = 4
Values = NDArray[np.float64]
# Reads exact vectors by entry id: the vectors, and which entries still have one.
Read = Callable[[Ids], tuple[Floats, NDArray[np.bool_]]]
COSINE: Final = "cosine"
CENTRED: Final = "centred"
SCORE: Final = "score"


@dataclass(frozen=True, slots=True)
class Scan:
    """The value of each row in scope by what they are ordered by.

    ``cosine_slack`` is how far a plain cosine may be from the exact one.
    """

    view: Snapshot
    question: Question
    order: str
    rows: Rows | None
    value: Floats
    cosine_slack: float
    layers: int

    def at(self, places: Rows) -> Rows:
        """Return the rows at some places of the scan."""
        return places if self.rows is None else self.rows[places]

    def slack(self, places: Rows) -> Floats:
        """Return how far the values at some places may be from the exact ones."""
        rows = self.at(places)
        if self.order == SCORE:
            importance = self.view.columns.importance[rows]
            return np.float32(self.cosine_slack) * importance
        if self.order == CENTRED:
            return self._centred_slack(self.view.centre.along[rows])
        return np.full(len(rows), self.cosine_slack, dtype=np.float32)

    def largest_slack(self) -> float:
        """Return a slack that none of the scan exceeds."""
        selection = slice(self.view.size) if self.rows is None else self.rows
        if self.order == SCORE:
            importance = self.view.columns.importance[selection]
            return self.cosine_slack * float(importance.max())
        if self.order == CENTRED:
            # The nearer the mean, the larger.
            along = self.view.centre.along[selection].max(keepdims=True)
            return float(self._centred_slack(along)[0])
        return self.cosine_slack

    def _centred_slack(self, along: Floats) -> Floats:
        query = self.question.vector
        return self.view.centre.slack(query, self.cosine_slack, along)


@dataclass(frozen=True, slots=True)
class Exact:
    """Rows with the exact values of their stored vectors."""

    rows: Rows
    cosine: Values
    centred: Values
    importance: Values

    @property
    def score(self) -> Values:
        return self.cosine * self.importance

    def by(self, order: str) -> Values:
        """Return what rows are ordered by."""
        values: Values = getattr(self, order)
        return values

    def take(self, places: Rows) -> Exact:
        """Return some of the rows."""
        return Exact(
            self.rows[places],
            self.cosine[places],
            self.centred[places],
            self.importance[places],
        )

    def hits(self, view: Snapshot) -> list[VectorHit]:
        """Return the rows as hits."""
        columns = (self.cosine, self.centred, self.importance, self.score)
        numbers = zip(*(column.tolist() for column in columns), strict=True)
        names = view.names(self.rows)
        return [VectorHit(e, *values) for e, values in zip(names, numbers, strict=True)]


def scan(
    view: Snapshot,
    rows: Rows | None,
    question: Question,
    order: str,
    layers: int | None = None,
) -> Scan:
    """Return the values of the rows in scope, None for all rows of the view.

    ``layers`` of the question are scanned, by default as many as pay.
    """
    columns, count = view.columns, view.size if rows is None else len(rows)
    if layers is None:
        layers = 1 if count >= ONE_LAYER_ROWS else LAYERS
    value, slack = columns.vectors.cosines(question, rows, view.size, layers=layers)
    selection = slice(view.size) if rows is None else rows
    if order == SCORE:
        value = value * columns.importance[selection]
    elif order == CENTRED:
        value = view.centre.scanned(question.vector, value, selection)
    return Scan(view, question, order, rows, value, slack, layers)


def candidates(scanned: Scan, limit: int) -> Rows:
    """Return the places of the scan that may be among the best ``limit``."""
    places = _may_be_best(scanned, limit)
    value = scanned.value[places]
    if scanned.layers < LAYERS and len(places) > limit:
        rows = scanned.at(places)
        finer = scan(scanned.view, rows, scanned.question, scanned.order, LAYERS)
        nearer = _may_be_best(finer, limit)
        places, value = places[nearer], finer.value[nearer]
    is_kept = scanned.view.columns.vectors.exact is not None
    limit_exact = max(MOST_EXACT if is_kept else MOST_READ, 2 * limit)
    if len(places) <= limit_exact:
        return places
    at_least = _best_from(value, limit_exact)
    places, value = places[value >= at_least], value[value >= at_least]
    order = _order(scanned.view.columns, scanned.at(places), value)
    kept_places: Rows = places[order[:limit_exact]]
    return kept_places


def _best_from(values: Floats, count: int) -> float:
    """Return the ``count``-th best of more values than that."""
    place = len(values) - count
    return float(np.partition(values, place)[place])


def _may_be_best(scanned: Scan, limit: int) -> Rows:
    """Return the places whose value can be among the ``limit`` best, by its slack."""
    value, count = scanned.value, len(scanned.value)
    if count <= limit:
        return np.arange(count)
    # So many are surely at least ``edge``: the slack of the others need not be known.
    top = np.flatnonzero(value >= _best_from(value, min(count, _TOP * limit)))
    edge = _best_from(value[top] - scanned.slack(top), limit)
    near = np.flatnonzero(value >= edge - scanned.largest_slack())
    places: Rows = near[value[near] + scanned.slack(near) >= edge]
    return places


def _order(columns: Columns, rows: Rows, values: NDArray[np.floating]) -> Rows:
    """Return the order of rows: best first, ties by newer first, then by id."""
    order: Rows = np.lexsort((columns.ids[rows], -columns.ts[rows], -values))
    return order


def exact(view: Snapshot, rows: Rows, question: Question, read: Read) -> Exact:
    """Return the exact values of rows, of those that still have a vector."""
    columns, values_left = view.columns, view.columns.vectors.exact
    if values_left is not None:
        vectors, has_vector = values_left[rows], columns.alive[rows]
    else:
        vectors, has_vector = read(columns.ids[rows])
    if not has_vector.all():
        vectors, rows = vectors[has_vector], rows[has_vector]
    numbers, query = vectors.astype(np.float64), question.vector.astype(np.float64)
    # Row by row: equal vectors get equal values, wherever they are.
    cosine = np.vecdot(numbers, query)
    along = np.vecdot(numbers, view.centre.mean.astype(np.float64))
    centred = view.centre.centred(question.vector, cosine, along)
    importance = columns.importance[rows].astype(np.float64)
    return Exact(rows, cosine, centred, importance)


def best(view: Snapshot, exact_hits: Exact, order: str, limit: int) -> Exact:
    """Return the best rows in order."""
    return exact_hits.take(
        _order(view.columns, exact_hits.rows, exact_hits.by(order))[:limit]
    )


def extremes(scanned: Scan, places: Rows, exact_hits: Exact, order: str) -> list[float]:
    """Return the lowest and the highest value in scope, the exact one where known."""
    rest = np.delete(scanned.value, places) if len(places) else scanned.value
    exact_values = exact_hits.by(order)
    ends = [float(part.min()) for part in (rest, exact_values) if len(part)]
    tops = [float(part.max()) for part in (rest, exact_values) if len(part)]
    return [min(ends), max(tops)] if ends else [0.0, 0.0]


def rank(
    view: Snapshot, scanned: Scan, question: Question, read: Read, row: int, order: str
) -> int | None:
    """Return the 1-based rank of a row in scope by exact values near its own.

    Of more than ``MOST_EXACT`` rows that the scan cannot tell from it, the nearest are
    compared exactly and the others as the scan has them.
    """
    rows = scanned.at(np.arange(len(scanned.value)))
    own = exact(view, np.array([row]), question, read)
    if not len(own.rows) or row not in rows:
        return None
    value = float(own.by(order)[0])
    distance = np.abs(scanned.value - value)
    rivals = np.flatnonzero(distance <= scanned.slack(np.arange(len(rows))))
    if len(rivals) > MOST_EXACT:
        rivals = rivals[np.argsort(distance[rivals], kind="stable")[:MOST_EXACT]]
    rivals = np.union1d(rivals, np.flatnonzero(rows == row))
    is_above = scanned.value > value
    is_above[rivals] = False
    exact_hits = exact(view, rows[rivals], question, read)
    order_rows: list[int] = best(view, exact_hits, order, len(rivals)).rows.tolist()
    return int(is_above.sum()) + order_rows.index(row) + 1

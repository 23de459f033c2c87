"""Compute the map of a workspace: places, groups and numbers of its entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from django.db import transaction
from django.utils import timezone
from numpy.typing import NDArray

from episodic.index import engine, snapshot
from episodic.index.snapshot import CHUNK, IndexArrays
from episodic.map import clusters, points, projection
from episodic.map.points import POINT, Points
from episodic.map.projection import Neighbours
from episodic.models import MemoryMap
from episodic.vectors import cosine
from memory.word_index import entry_rows

# Above this many entries the map shows a sample of them, always the same one.
MOST_POINTS: Final = 20_000
FEWEST_POINTS: Final = 3
# How many nearest others say whether an entry stands apart, and how many random pairs
# it is compared with: as in the metric Coherence.
NEAREST: Final = 3
PAIRS: Final = 4_096
LINKED_COSINE: Final = 0.80
AGREEMENT_SAMPLE: Final = 256


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The points of one computation, and what is said of all of them."""

    points: Points
    crews: list[str]
    agreement: float


def compute(workspace_id: str) -> int:
    """Compute a workspace's map and store it; return how many points it has.

    The row is there before the index is read, so that an erasure that comes meanwhile
    waits for it or is seen when the points are stored.
    """
    MemoryMap.objects.get_or_create(workspace_id=workspace_id)
    arrays, at = snapshot.load(workspace_id), timezone.now()
    drawn = _Drawn(np.zeros(0, dtype=POINT), [], 0.0)
    indexed = 0
    if arrays is not None:
        rows = np.flatnonzero(arrays.view.columns.alive[: arrays.view.size])
        indexed = len(rows)
        if indexed >= FEWEST_POINTS:
            drawn = _draw(arrays, _sample(rows))
    with transaction.atomic():
        row = MemoryMap.objects.select_for_update().get(pk=workspace_id)
        remaining = drawn.points[_is_indexed(workspace_id, drawn.points)]
        row.computed_at, row.model = at, engine.embedder().model
        row.indexed, row.agreement = indexed, drawn.agreement
        row.crews, row.points = drawn.crews, remaining.tobytes()
        row.save()
    return len(remaining)


def _sample(rows: cosine.Rows) -> cosine.Rows:
    if len(rows) <= MOST_POINTS:
        return rows
    rng = np.random.default_rng(projection.SEED)
    return np.sort(rng.choice(rows, MOST_POINTS, replace=False))


def _draw(arrays: IndexArrays, rows: cosine.Rows) -> _Drawn:
    columns = arrays.view.columns
    vectors = columns.vectors[rows]
    near = projection.neighbours(vectors)
    places = projection.layout(projection.components(vectors), near)
    drawn = np.zeros(len(rows), dtype=POINT)
    drawn["id"], drawn["ts"] = columns.ids[rows], columns.ts[rows]
    drawn["x"], drawn["y"] = points.on_grid(places).T
    drawn["group"] = clusters.groups(places)
    drawn["importance"] = columns.importance[rows]
    drawn["relations"] = _relations(arrays)[rows]
    drawn["references"] = _references(arrays.workspace_id, drawn)
    drawn["nearest"] = near.cosines[:, 0]
    drawn["apart"] = _stands_apart(vectors, near)
    codes, numbers = np.unique(columns.crew[rows], return_inverse=True)
    names = arrays.matrix.crews.names()
    crews = [names[int(code)] for code in codes if int(code) in names]
    offset = len(codes) - len(crews)
    # The code of no crew is the lowest.
    drawn["crew"] = np.where(numbers < offset, points.NO_CREW, numbers - offset)
    rng = np.random.default_rng(projection.SEED)
    count = min(AGREEMENT_SAMPLE, len(rows))
    sampled = rng.choice(len(rows), count, replace=False)
    return _Drawn(drawn, crews, projection.trustworthiness(near, places, sampled))


def _relations(arrays: IndexArrays) -> NDArray[np.int64]:
    """Return how many relations lead from or to each row."""
    size = arrays.view.size
    ends = arrays.edges.ravel()
    counts: NDArray[np.int64] = np.bincount(
        ends[(ends >= 0) & (ends < size)], minlength=size
    )
    return np.minimum(counts, np.iinfo(np.uint16).max)


def _references(workspace_id: str, drawn: Points) -> NDArray[np.int64]:
    """Return how often each point's entry was recalled."""
    counts = np.zeros(len(drawn), dtype=np.int64)
    rows = snapshot.current(workspace_id).filter(reference_count__gt=0).order_by()
    recalled = dict(rows.values_list("entry_id", "reference_count").iterator())
    for place, entry_id in enumerate(points.ids(drawn)):
        counts[place] = recalled.get(entry_id, 0)
    return counts


def _stands_apart(vectors: cosine.Floats, near: Neighbours) -> NDArray[np.bool_]:
    """Return which points are nearer to random others than to a group of their own."""
    rows = np.arange(len(vectors))
    rng = np.random.default_rng(projection.SEED)
    background = cosine.background(vectors, rows, PAIRS, rng)
    goal = max(LINKED_COSINE, (1 + background) / 2)
    means = near.cosines[:, :NEAREST].mean(axis=1)
    apart: NDArray[np.bool_] = means < (background + goal) / 2
    return apart


def _is_indexed(workspace_id: str, drawn: Points) -> NDArray[np.bool_]:
    """Return which points' entries are still in the index, and may be used."""
    ids, present = points.ids(drawn), set[str]()
    for start in range(0, len(ids), CHUNK):
        part = ids[start : start + CHUNK]
        rows = snapshot.current(workspace_id).filter(pk__in=part).order_by()
        present.update(rows.values_list("pk", flat=True))
    return np.isin(drawn["id"], entry_rows.encode(sorted(present)))

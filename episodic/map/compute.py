"""Compute the map of a workspace: places, groups and numbers of its entries."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Final

import numpy as np
import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone
from numpy.typing import NDArray

from episodic.index import engine, snapshot
from episodic.index.snapshot import CHUNK, IndexArrays
from episodic.map import clusters, projection
from episodic.map import points as map_points
from episodic.map.points import POINT, Points
from episodic.map.projection import Neighbours
from episodic.models import Embedding, MemoryMap, State
from episodic.vectors import cosine
from memory.journal import erasure
from memory.models import Workspace
from memory.word_index import entry_rows

log = structlog.get_logger(__name__)
# Above this many entries the map shows a sample of them, nearly the same one as entries
# are added.
MOST_POINTS: Final = 20_000
FEWEST_POINTS: Final = 3
# How many nearest others say whether an entry stands apart, and how many random pairs
# it is compared with: as in the metric Coherence.
NEAREST: Final = 3
PAIRS: Final = 4_096
LINKED_COSINE: Final = 0.80
AGREEMENT_SAMPLE: Final = 256


@dataclass(frozen=True, slots=True)
class _Sketch:
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
    sketch = _Sketch(np.zeros(0, dtype=POINT), [], 0.0)
    indexed = 0
    if arrays is not None:
        rows = np.flatnonzero(arrays.view.columns.alive[: arrays.view.size])
        indexed = len(rows)
        if indexed >= FEWEST_POINTS:
            sketch = _draw(arrays, _sample(arrays, rows))
    with transaction.atomic():
        row = MemoryMap.objects.select_for_update().get(pk=workspace_id)
        remaining = sketch.points[_is_indexed(workspace_id, sketch.points)]
        row.computed_at, row.model = at, engine.embedder().model
        row.indexed, row.agreement = indexed, sketch.agreement
        row.crews, row.points = sketch.crews, remaining.tobytes()
        row.save()
    return len(remaining)


def begin() -> int:
    """Compute the first map of workspaces that have vectors; return how many.

    A workspace whose entries still wait for their first try is left for later.
    """
    maps = MemoryMap.objects.filter(indexed__gte=FEWEST_POINTS)
    rows = Embedding.objects.filter(workspace=OuterRef("pk")).order_by()
    indexed = rows.filter(state=State.INDEXED, model=engine.embedder().model)
    ready = Workspace.objects.exclude(pk__in=maps.values("pk")).filter(
        ~Exists(rows.filter(state=State.PENDING, attempts=0)),
        Exists(indexed[FEWEST_POINTS - 1 : FEWEST_POINTS]),
    )
    return sum(_begin(pk) for pk in ready.order_by("pk").values_list("pk", flat=True))


def _begin(workspace_id: str) -> bool:
    """Compute a first map; a failure does not stop the other workspaces."""
    try:
        compute(workspace_id)
    except Exception:
        log.exception("first_map_failed", workspace=workspace_id)
        return False
    return True


def _sample(arrays: IndexArrays, rows: cosine.Rows) -> cosine.Rows:
    """Return rows in the order of ids; of too many those whose ids hash lowest.

    So one entry more changes one point of a sample at most.
    """
    ids = arrays.view.columns.ids
    if len(rows) > MOST_POINTS:
        hashes = np.array([zlib.crc32(name) for name in ids[rows].tolist()])
        rows = rows[np.argsort(hashes, kind="stable")[:MOST_POINTS]]
    return rows[np.argsort(ids[rows])]


def _draw(arrays: IndexArrays, rows: cosine.Rows) -> _Sketch:
    columns = arrays.view.columns
    vectors = columns.vectors[rows]
    nearest = projection.neighbours(vectors)
    layout = projection.layout(projection.components(vectors), nearest)
    places = projection.spread(layout)
    points = np.zeros(len(rows), dtype=POINT)
    points["id"], points["ts"] = columns.ids[rows], columns.ts[rows]
    points["x"], points["y"] = map_points.on_grid(places).T
    points["group"] = clusters.groups(places)
    points["importance"] = columns.importance[rows]
    points["relations"] = _relations(arrays)[rows]
    points["references"] = _references(arrays.workspace_id, points)
    points["nearest"] = nearest.cosines[:, 0]
    points["apart"] = _stands_apart(vectors, nearest)
    codes, numbers = np.unique(columns.crew[rows], return_inverse=True)
    names = arrays.matrix.crews.names()
    crews = [names[int(code)] for code in codes if int(code) in names]
    offset = len(codes) - len(crews)
    # The code of no crew is the lowest.
    points["crew"] = np.where(numbers < offset, map_points.NO_CREW, numbers - offset)
    rng = np.random.default_rng(projection.SEED)
    count = min(AGREEMENT_SAMPLE, len(rows))
    sampled = rng.choice(len(rows), count, replace=False)
    return _Sketch(points, crews, projection.trustworthiness(nearest, places, sampled))


def _relations(arrays: IndexArrays) -> NDArray[np.int64]:
    """Return how many relations lead from or to each row."""
    size = arrays.view.size
    ends = arrays.edges.ravel()
    counts: NDArray[np.int64] = np.bincount(
        ends[(ends >= 0) & (ends < size)], minlength=size
    )
    return np.minimum(counts, np.iinfo(np.uint16).max)


def _references(workspace_id: str, points: Points) -> NDArray[np.int64]:
    """Return how often each point's entry was recalled."""
    counts = np.zeros(len(points), dtype=np.int64)
    rows = snapshot.current(workspace_id).filter(reference_count__gt=0).order_by()
    recalled = dict(rows.values_list("entry_id", "reference_count").iterator())
    for place, entry_id in enumerate(map_points.ids(points)):
        counts[place] = recalled.get(entry_id, 0)
    return counts


def _stands_apart(vectors: cosine.Floats, nearest: Neighbours) -> NDArray[np.bool_]:
    """Return which points are nearer to random others than to a group of their own."""
    rows = np.arange(len(vectors))
    rng = np.random.default_rng(projection.SEED)
    background = cosine.background(vectors, rows, PAIRS, rng)
    goal = max(LINKED_COSINE, (1 + background) / 2)
    means = nearest.cosines[:, :NEAREST].mean(axis=1)
    apart: NDArray[np.bool_] = means < (background + goal) / 2
    return apart


def _is_indexed(workspace_id: str, points: Points) -> NDArray[np.bool_]:
    """Return which points' entries are still in the index, and may be used."""
    ids, present = map_points.ids(points), set[str]()
    for start in range(0, len(ids), CHUNK):
        part = ids[start : start + CHUNK]
        rows = Embedding.objects.filter(
            pk__in=part, state=State.INDEXED, model=engine.embedder().model
        )
        indexed = erasure.of(rows, workspace_id)
        present.update(indexed.values_list("pk", flat=True))
    return np.isin(points["id"], entry_rows.encode(sorted(present)))

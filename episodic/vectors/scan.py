"""The dense ranking on SQLite: an exact scan over one matrix per workspace and process.

The matrix is never stale. Database triggers log every change to an embedding; before a
query the log is read from where this process stopped (an index look-up when nothing
happened), and only what changed is fetched. Loading everything happens once.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from datetime import datetime
from typing import Final

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from episodic.embedders.base import Vectors
from episodic.models import EmbeddingChange
from episodic.vectors import rows
from episodic.vectors.base import SearchResult, VectorHit, VectorScope
from episodic.vectors.cosine import Floats, Rows
from episodic.vectors.matrix import Matrix, Snapshot
from memory.rules.entries import RULE_TYPE

IDS_AT_ONCE: Final = 500
MATRICES: Final = 64
# Plain SQL: each query runs it twice, and building it costs more than running it.
_CHANGES: Final = (
    "SELECT id, entry_id, kind FROM embedding_changes"
    " WHERE workspace_id = %s AND id > %s ORDER BY id"
)


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _name(scope: VectorScope) -> tuple[str, str, str]:
    """Return the name of a scope's matrix; a test database gets its own."""
    return str(connection.settings_dict["NAME"]), scope.workspace_id, scope.model


class _CachedMatrix:
    """One workspace's matrix and how far it has read the log of changes."""

    def __init__(self, workspace_id: str, model: str) -> None:
        self.workspace_id, self.model = workspace_id, model
        self.lock = threading.Lock()
        self.matrix: Matrix | None = None
        self.seen = -1

    def fresh(self, dim: int) -> tuple[Matrix, Snapshot]:
        """Return the matrix, caught up with the database, and a view of it."""
        with self.lock:
            if self.matrix is None or self.matrix.dim != dim:
                self._load(dim)
            else:
                self._catch_up()
            assert self.matrix is not None  # noqa: S101  (mypy: _load sets it)
            return self.matrix, self.matrix.snapshot()

    def catch_up(self) -> None:
        """Update a loaded matrix from the log of changes; none is loaded for that."""
        with self.lock:
            if self.matrix is not None:
                self._catch_up()

    def _load(self, dim: int) -> None:
        # The log is read first: a change that is written in between is applied twice,
        # which does nothing, instead of not at all.
        last = EmbeddingChange.objects.filter(workspace_id=self.workspace_id)
        self.seen = last.order_by("-id").values_list("id", flat=True).first() or 0
        row_count = rows.count(self.workspace_id, self.model)
        matrix = Matrix(dim, row_count + row_count // 8)
        for batch, vectors in rows.read_all(self.workspace_id, self.model, dim):
            matrix.put(batch, vectors)
        self.matrix = matrix

    def _catch_up(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(_CHANGES, [self.workspace_id, self.seen])
            changes = cursor.fetchall()
        if not changes:
            return
        assert self.matrix is not None  # noqa: S101
        if any(kind == "trim" and int(upto) > self.seen for _, upto, kind in changes):
            self._load(self.matrix.dim)
            return
        changed_ids = {entry_id for _, entry_id, kind in changes if kind != "trim"}
        self._apply(self.matrix, list(changed_ids))
        self.seen = changes[-1][0]

    def _apply(self, matrix: Matrix, entry_ids: list[str]) -> None:
        """Reload named entries from the database; deleted ones are dropped."""
        for start in range(0, len(entry_ids), IDS_AT_ONCE):
            part = entry_ids[start : start + IDS_AT_ONCE]
            batch, vectors = rows.read_ids(
                self.workspace_id, self.model, matrix.dim, part
            )
            present = {row.entry_id for row in batch}
            for entry_id in part:
                if entry_id not in present:
                    matrix.drop(entry_id)
            if batch:
                matrix.put(batch, vectors)


class ScanIndex:
    """Exact nearest neighbours by multiplying everything, which is fast enough.

    ``VectorIndex`` says what ``search`` and the methods after it return.
    """

    name = "scan"

    def __init__(self) -> None:
        self._matrices: OrderedDict[tuple[str, str, str], _CachedMatrix] = OrderedDict()
        self._lock = threading.Lock()

    def view(self, scope: VectorScope, dim: int) -> tuple[Matrix, Snapshot]:
        """Return a workspace's whole matrix, caught up, and a view of it; read only."""
        name = _name(scope)
        with self._lock:
            matrix = self._matrices.setdefault(
                name, _CachedMatrix(scope.workspace_id, scope.model)
            )
            self._matrices.move_to_end(name)
            while len(self._matrices) > MATRICES:
                self._matrices.popitem(last=False)
        return matrix.fresh(dim)

    def holds(self, scope: VectorScope) -> bool:
        """Whether this process has loaded a workspace's matrix; this loads none."""
        with self._lock:
            cached = self._matrices.get(_name(scope))
        return cached is not None and cached.matrix is not None

    def catch_up(self, workspace_id: str) -> int:
        """Wipe removed rows from a workspace's matrices now; return how many matrices.

        A query does it too; this is for workspaces without one for a long time.
        """
        with self._lock:
            caches = [
                matrix
                for name, matrix in self._matrices.items()
                if name[1] == workspace_id
            ]
        for matrix in caches:
            matrix.catch_up()
        return len(caches)

    def clear(self) -> None:
        """Forget every matrix; the next query loads again."""
        with self._lock:
            self._matrices.clear()

    def search(self, query: Vectors, scope: VectorScope, limit: int) -> SearchResult:
        matrix, view = self.view(scope, len(query))
        rows = _in_scope(matrix, view, scope)
        cosine, score = _scores(view, rows, query)
        if not len(score):
            return SearchResult([], 0)
        best = _top(view, rows, score, limit)
        hits = [_hit(view, rows, cosine, score, i) for i in best]
        return SearchResult(hits, len(score), float(score.min()), float(score.max()))

    def nearest(
        self, query: Vectors, scope: VectorScope, limit: int, min_cosine: float
    ) -> list[VectorHit]:
        matrix, view = self.view(scope, len(query))
        rows = _in_scope(matrix, view, scope)
        cosine, score = _scores(view, rows, query)
        close = np.flatnonzero(cosine >= min_cosine)
        best = close[np.argsort(-cosine[close], kind="stable")][:limit]
        return [_hit(view, rows, cosine, score, int(i)) for i in best]

    def of(
        self, query: Vectors, scope: VectorScope, entry_ids: list[str]
    ) -> dict[str, VectorHit]:
        matrix, view = self.view(scope, len(query))
        names, rows = _positions(matrix, view, entry_ids)
        cosine, score = _scores(view, rows, query)
        return {e: _hit(view, rows, cosine, score, i) for i, e in enumerate(names)}

    def cosines(
        self, query: Vectors, scope: VectorScope, entry_ids: list[str]
    ) -> dict[str, float]:
        matrix, view = self.view(scope, len(query))
        names, rows = _positions(matrix, view, entry_ids)
        cosine, _ = _scores(view, rows, query)
        return dict(zip(names, cosine.tolist(), strict=True))

    def rank(self, query: Vectors, scope: VectorScope, entry_id: str) -> int | None:
        matrix, view = self.view(scope, len(query))
        rows = _in_scope(matrix, view, scope)
        _, score = _scores(view, rows, query)
        order = _top(view, rows, score, len(score))
        ids = view.columns.ids[: view.size]
        ids = ids if rows is None else ids[rows]
        place = np.flatnonzero(ids[order] == entry_id)
        return int(place[0]) + 1 if len(place) else None


def _positions(
    matrix: Matrix, view: Snapshot, entry_ids: list[str]
) -> tuple[list[str], Rows]:
    """Return the entries that a view has, and their rows in it."""
    positions = ((e, matrix.position(e)) for e in entry_ids)
    in_view = [(e, i) for e, i in positions if i is not None and i < view.size]
    rows = np.array([i for _, i in in_view], dtype=np.int64)
    # The matrix may have moved on since the view was taken: believe the view.
    view_ids = view.columns.ids[rows].tolist()
    is_same = [name == e for (e, _), name in zip(in_view, view_ids, strict=True)]
    names = [e for (e, _), ok in zip(in_view, is_same, strict=True) if ok]
    return names, rows[np.array(is_same, dtype=np.bool_)]


def _owner_masks(
    matrix: Matrix, view: Snapshot, scope: VectorScope
) -> list[NDArray[np.bool_]]:
    """Return the rows of the crew, of the agent and of the crew's rules, as masks."""
    columns, size = view.columns, view.size
    masks = []
    if scope.crew_id is not None:
        masks.append(columns.crew[:size] == matrix.crews.get(scope.crew_id))
    if scope.agent_id is not None:
        masks.append(columns.agent[:size] == matrix.agents.get(scope.agent_id))
    if masks and scope.rules_crew_id is not None:
        masks.append(
            (columns.crew[:size] == matrix.crews.get(scope.rules_crew_id))
            & (columns.agent[:size] == -1)
            & (columns.type[:size] == matrix.types.get(RULE_TYPE))
        )
    return masks


def _in_scope(matrix: Matrix, view: Snapshot, scope: VectorScope) -> Rows | None:
    """Return the rows a scope may see; None stands for all of them."""
    columns, size = view.columns, view.size
    mask = columns.alive[:size].copy()
    if scope.only_crewless:
        mask &= columns.crew[:size] == -1
    masks = _owner_masks(matrix, view, scope)
    if masks:
        mask &= np.logical_or.reduce(masks)
    if scope.entry_types:
        codes = [matrix.types.get(name) for name in scope.entry_types]
        mask &= np.isin(columns.type[:size], codes)
    if scope.since is not None:
        mask &= columns.ts[:size] >= _milliseconds(scope.since)
    if scope.until is not None:
        mask &= columns.ts[:size] <= _milliseconds(scope.until)
    return None if mask.all() and size else np.flatnonzero(mask)


def _scores(view: Snapshot, rows: Rows | None, query: Vectors) -> tuple[Floats, Floats]:
    """Return cosine and cosine × importance of the rows.

    When most rows are in scope it is cheaper to multiply all and pick than to copy.
    """
    columns, size = view.columns, view.size
    if rows is None:
        cosine = columns.vectors[:size] @ query
        return cosine, cosine * columns.importance[:size]
    if len(rows) * 4 > size:
        cosine = (columns.vectors[:size] @ query)[rows]
    else:
        cosine = columns.vectors[rows] @ query
    return cosine, cosine * columns.importance[rows]


def _top(
    view: Snapshot,
    rows: Rows | None,
    score: Floats,
    limit: int,
) -> Rows:
    """Return positions of the best scores, ties by newer first, then by id."""
    if len(score) > limit:
        edge = np.partition(score, len(score) - limit)[len(score) - limit]
        positions = np.flatnonzero(score >= edge)
    else:
        positions = np.arange(len(score))
    at = positions if rows is None else rows[positions]
    columns = view.columns
    order = np.lexsort((columns.ids[at], -columns.ts[at], -score[positions]))
    return positions[order][:limit]


def _hit(
    view: Snapshot,
    rows: Rows | None,
    cosine: Floats,
    score: Floats,
    i: int,
) -> VectorHit:
    at = i if rows is None else int(rows[i])
    return VectorHit(
        str(view.columns.ids[at]),
        float(cosine[i]),
        float(view.columns.importance[at]),
        float(score[i]),
    )

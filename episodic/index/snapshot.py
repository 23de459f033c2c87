"""A workspace's index as arrays: vectors, relations, crews and agents.

SQLite's matrix of the process is used as it is; where the database does the searching,
a matrix is read for one measurement and dropped after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from episodic.index import engine
from episodic.models import Embedding, MemoryRelation, State
from episodic.vectors.base import VectorScope
from episodic.vectors.matrix import Matrix, Row, Snapshot
from episodic.vectors.scan import ScanIndex

MAX_IDS: Final = 24
CHUNK: Final = 2_000
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class IndexArrays:
    """What a workspace's index holds: its matrix and the relations as row numbers.

    An end of a relation that has no vector is −1.
    """

    workspace_id: str
    matrix: Matrix
    view: Snapshot
    edges: NDArray[np.int64]

    def rows(self, crew_id: str | None, at: datetime) -> Rows:
        """Return the rows of a crew, or of all, that were written by a moment."""
        columns, size = self.view.columns, self.view.size
        mask = columns.alive[:size] & (columns.ts[:size] <= at.timestamp() * 1000)
        if crew_id:
            mask &= columns.crew[:size] == self.matrix.crews.get(crew_id)
        return np.flatnonzero(mask)

    def entry_ids(self, rows: Rows) -> list[str]:
        """Return the entry ids of rows, at most ``MAX_IDS``."""
        return [str(entry_id) for entry_id in self.view.columns.ids[rows[:MAX_IDS]]]


def current(workspace_id: str) -> QuerySet[Embedding]:
    """Return the embeddings of the model in use."""
    return Embedding.objects.filter(
        workspace_id=workspace_id,
        state=State.INDEXED,
        model=engine.embedder().model,
    )


def load(workspace_id: str) -> IndexArrays | None:
    """Return what a workspace's index holds; None when it holds nothing."""
    dim = current(workspace_id).values_list("dim", flat=True).first()
    if not dim:
        return None
    index = engine.vectors()
    if isinstance(index, ScanIndex):
        scope = VectorScope(workspace_id=workspace_id, model=engine.embedder().model)
        matrix, view = index.view(scope, dim)
    else:
        matrix = _read(workspace_id, dim)
        view = matrix.snapshot()
    return IndexArrays(workspace_id, matrix, view, _edges(workspace_id, matrix))


def _read(workspace_id: str, dim: int) -> Matrix:
    """Return a matrix read for this measurement, where the process keeps none."""
    stored = current(workspace_id).filter(dim=dim)
    matrix = Matrix(dim, stored.count())
    values = stored.values_list(
        "entry_id", "crew_id", "agent_id", "entry__entry_type", "entry__ts",
        "importance_score", "vector",
    ).order_by()  # fmt: skip
    stored_rows = values.iterator(chunk_size=CHUNK)
    while batch := list(islice(stored_rows, CHUNK)):
        rows = [
            Row(entry, crew, agent, kind, round(ts.timestamp() * 1000), weight)
            for entry, crew, agent, kind, ts, weight, _ in batch
        ]
        vectors = np.frombuffer(b"".join(bytes(row[-1]) for row in batch), "<f4")
        matrix.put(rows, vectors.reshape(len(batch), dim))
    return matrix


def _edges(workspace_id: str, matrix: Matrix) -> NDArray[np.int64]:
    """Return every relation as a pair of row numbers."""
    stored = MemoryRelation.objects.filter(workspace_id=workspace_id).order_by()
    flat: list[int] = []
    pairs = stored.values_list("src_id", "dst_id")
    for pair in pairs.iterator(chunk_size=CHUNK):
        for entry_id in pair:
            at = matrix.position(entry_id)
            flat.append(-1 if at is None else at)
    return np.array(flat, dtype=np.int64).reshape(-1, 2)

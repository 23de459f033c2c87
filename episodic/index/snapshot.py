"""A workspace's index as arrays: vectors, relations, crews and agents.

SQLite's matrix of the process is used as it is; where the database does the searching,
a matrix is read for one measurement and dropped after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from episodic.index import engine
from episodic.models import Embedding, MemoryRelation, State
from episodic.vectors import pg_store
from episodic.vectors.base import VectorScope
from episodic.vectors.matrix import Batch, Labels, Matrix, Snapshot
from episodic.vectors.scan import ScanIndex
from memory.word_index import entry_rows

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
        return self.view.names(rows[:MAX_IDS])


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
    matrix = Matrix(dim, current(workspace_id).filter(dim=dim).count())
    matrix.fill(_batches(workspace_id, dim))
    return matrix


def _batches(workspace_id: str, dim: int) -> Iterator[Batch]:
    for rows in pg_store.batches(workspace_id, engine.embedder().model, dim):
        ids, crews, agents, types, times, recorded, importance, vectors = zip(
            *rows, strict=True
        )
        yield Batch(
            ids=entry_rows.encode(ids),
            crews=Labels.of(crews),
            agents=Labels.of(agents),
            types=Labels.of(types),
            ts=_units(times, 1_000),
            recorded=_units(recorded, 1_000_000),
            importance=np.array(importance, dtype=np.float32),
            vectors=pg_store.floats([bytes(blob) for blob in vectors]),
        )


def _units(moments: Sequence[datetime], per_second: int) -> NDArray[np.int64]:
    """Return moments as a number of units since 1970."""
    numbers = [round(moment.timestamp() * per_second) for moment in moments]
    return np.array(numbers, dtype=np.int64)


def _edges(workspace_id: str, matrix: Matrix) -> NDArray[np.int64]:
    """Return every relation as a pair of row numbers."""
    stored = MemoryRelation.objects.filter(workspace_id=workspace_id).order_by()
    pairs = stored.values_list("src_id", "dst_id").iterator(chunk_size=CHUNK)
    parts = [np.zeros(0, dtype=np.int64)]
    while part := [entry_id for pair in islice(pairs, CHUNK) for entry_id in pair]:
        parts.append(matrix.positions(part))
    return np.concatenate(parts).reshape(-1, 2)

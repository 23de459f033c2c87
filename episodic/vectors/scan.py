"""The dense ranking on SQLite: one matrix per workspace and process, scanned whole."""

from __future__ import annotations

from functools import partial

import numpy as np

from episodic.embedders.base import Vectors
from episodic.vectors import passes, rows
from episodic.vectors.base import SearchResult, VectorHit, VectorScope
from episodic.vectors.cache import DEFAULT_BYTES, Matrices
from episodic.vectors.matrix import Matrix, Snapshot
from episodic.vectors.passes import CENTRED, COSINE, SCORE, Exact, Read
from episodic.vectors.quantised import Question
from episodic.vectors.scope_rows import in_scope
from memory.word_index import entry_rows


def _reader(scope: VectorScope, dim: int) -> Read:
    """Return what reads a scope's exact vectors from the database."""
    return partial(rows.read_vectors, scope.workspace_id, scope.model, dim)


class ScanIndex:
    """Nearest neighbours by a quick scan of everything and exact values of the best.

    ``VectorIndex`` says what ``search`` and the methods after it return.
    """

    name = "scan"

    def __init__(self, most_bytes: int = DEFAULT_BYTES) -> None:
        self._matrices = Matrices(most_bytes)

    def view(self, scope: VectorScope, dim: int) -> tuple[Matrix, Snapshot]:
        """Return a workspace's whole matrix, caught up, and a view of it; read only."""
        return self._matrices.view(scope, dim)

    def holds(self, scope: VectorScope) -> bool:
        """Whether this process has loaded a workspace's matrix; this loads none."""
        return self._matrices.holds(scope)

    def catch_up(self, workspace_id: str) -> int:
        """Wipe removed rows from a workspace's matrices now; return how many matrices.

        A query does it too; this is for workspaces without one for a long time.
        """
        return self._matrices.catch_up(workspace_id)

    @property
    def bytes_used(self) -> int:
        """How many bytes of memory the vectors and what belongs to them take."""
        return self._matrices.bytes_used

    def clear(self) -> None:
        """Forget every matrix; the next query loads again."""
        self._matrices.clear()

    def search(
        self, query: Vectors, scope: VectorScope, limit: int, *, centred: bool = False
    ) -> SearchResult:
        matrix, view = self.view(scope, len(query))
        question, order = Question.of(query), CENTRED if centred else SCORE
        scanned = passes.scan(view, in_scope(matrix, view, scope), question, order)
        places = passes.candidates(scanned, limit)
        read = _reader(scope, len(query))
        exact_hits = passes.exact(view, scanned.at(places), question, read)
        hits = passes.best(view, exact_hits, order, limit).hits(view)
        lowest, highest = passes.extremes(scanned, places, exact_hits, order)
        return SearchResult(hits, len(scanned.value), lowest, highest)

    def nearest(
        self, query: Vectors, scope: VectorScope, limit: int, min_cosine: float
    ) -> list[VectorHit]:
        matrix, view = self.view(scope, len(query))
        question, in_reach = Question.of(query), in_scope(matrix, view, scope)
        scanned = passes.scan(view, in_reach, question, COSINE)
        places = passes.candidates(scanned, limit)
        is_close = scanned.value[places] + scanned.slack(places) >= min_cosine
        close = scanned.at(places[is_close])
        exact_hits = passes.exact(view, close, question, _reader(scope, len(query)))
        exact_hits = exact_hits.take(np.flatnonzero(exact_hits.cosine >= min_cosine))
        return passes.best(view, exact_hits, COSINE, limit).hits(view)

    def of(
        self, query: Vectors, scope: VectorScope, entry_ids: list[str]
    ) -> dict[str, VectorHit]:
        exact_hits, view = self._exact_of(query, scope, entry_ids)
        return {hit.entry_id: hit for hit in exact_hits.hits(view)}

    def cosines(
        self, query: Vectors, scope: VectorScope, entry_ids: list[str]
    ) -> dict[str, float]:
        exact_hits, view = self._exact_of(query, scope, entry_ids)
        return dict(
            zip(view.names(exact_hits.rows), exact_hits.cosine.tolist(), strict=True)
        )

    def meanings(
        self, query: Vectors, scope: VectorScope, entry_ids: list[str]
    ) -> tuple[dict[str, float], dict[str, float]]:
        exact_hits, view = self._exact_of(query, scope, entry_ids)
        names = view.names(exact_hits.rows)
        return (
            dict(zip(names, exact_hits.cosine.tolist(), strict=True)),
            dict(zip(names, exact_hits.centred.tolist(), strict=True)),
        )

    def _exact_of(
        self, query: Vectors, scope: VectorScope, entry_ids: list[str]
    ) -> tuple[Exact, Snapshot]:
        _, view = self.view(scope, len(query))
        places = view.find(entry_rows.encode(entry_ids))
        read = _reader(scope, len(query))
        return passes.exact(view, places[places >= 0], Question.of(query), read), view

    def rank(
        self,
        query: Vectors,
        scope: VectorScope,
        entry_id: str,
        *,
        centred: bool = False,
    ) -> int | None:
        matrix, view = self.view(scope, len(query))
        [row] = view.find(entry_rows.encode([entry_id])).tolist()
        if row < 0:
            return None
        question, order = Question.of(query), CENTRED if centred else SCORE
        scanned = passes.scan(view, in_scope(matrix, view, scope), question, order)
        read = _reader(scope, len(query))
        return passes.rank(view, scanned, question, read, row, order)

"""Hits: the best entries with their ranks, cosine and importance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.utils import timezone

from episodic.index import engine, importance, relations
from episodic.models import Embedding
from episodic.recall import fusion
from episodic.recall.request import Rankings, Request, vector_scope
from episodic.scopes import Reach
from episodic.vectors.base import VectorHit
from memory.models import JournalEntry


@dataclass(frozen=True, slots=True)
class Hit:
    """One entry of the answer. ``cosine`` is None while it has no vector."""

    entry: JournalEntry
    score: float
    cosine: float | None
    importance: float
    dense_rank: int | None
    sparse_rank: int | None
    rrf: float
    age_seconds: float
    via: str


def _via(dense: int | None, sparse: int | None) -> str:
    if dense and sparse:
        return "both"
    return "dense" if dense else "words"


def _load(
    request: Request, reach: Reach, rankings: Rankings, ids: Sequence[str]
) -> tuple[dict[str, JournalEntry], dict[str, VectorHit], dict[str, float]]:
    """Return rows, cosines and stored importance of entries."""
    rows = reach.load(ids)
    vectors = {hit.entry_id: hit for hit in rankings.dense.hits if hit.entry_id in rows}
    without_vector = [entry_id for entry_id in rows if entry_id not in vectors]
    if rankings.vector is not None and without_vector:
        scope = vector_scope(request, reach)
        vectors |= engine.vectors().of(rankings.vector, scope, without_vector)
    weights = Embedding.objects.filter(pk__in=without_vector)
    return rows, vectors, dict(weights.values_list("entry_id", "importance_score"))


def _leading(scores: dict[str, float], take: int) -> list[str]:
    """Return the best ids, and every id that ties with the last of them.

    Equal scores are common in rank fusion; which of them is newer shows when loaded.
    """
    ids = sorted(scores, key=lambda e: (-scores[e], e))
    edge = scores[ids[take - 1]] if len(ids) > take else float("-inf")
    return [entry_id for entry_id in ids if scores[entry_id] >= edge]


def _ranks(ids: Sequence[str]) -> dict[str, int]:
    return {entry_id: rank for rank, entry_id in enumerate(ids, 1)}


class HitBuilder:
    """Builds hits from rows, with ranks, cosine and importance."""

    def __init__(self, request: Request, reach: Reach, rankings: Rankings) -> None:
        self._request, self._seen, self._rankings = request, reach, rankings
        self._dense, self._words = _ranks(rankings.dense_ids), _ranks(rankings.word_ids)
        self._now = timezone.now()

    def of(self, scores: dict[str, float], take: int) -> list[Hit]:
        """Return the best entries: by score, then newer first, then by id."""
        ids = _leading(scores, take)
        rows, vectors, weights = _load(self._request, self._seen, self._rankings, ids)
        hits = [
            self._hit(row, scores[row.id], vectors.get(row.id), weights.get(row.id))
            for row in rows.values()
            if not _too_far(self._request, vectors.get(row.id))
        ]
        hits.sort(key=lambda h: (-h.score, -h.entry.ts.timestamp(), h.entry.id))
        return hits

    def _hit(
        self,
        row: JournalEntry,
        score: float,
        close: VectorHit | None,
        weight: float | None,
    ) -> Hit:
        dense, sparse = self._dense.get(row.id), self._words.get(row.id)
        if close is not None:
            weight = close.importance
        elif weight is None:
            weight = importance.base(row.entry_type, row.severity, row.priority)
        return Hit(
            entry=row,
            score=score,
            cosine=close.cosine if close else None,
            importance=weight,
            dense_rank=dense,
            sparse_rank=sparse,
            rrf=sum(fusion.reciprocal(rank) for rank in (dense, sparse) if rank),
            age_seconds=max(0.0, (self._now - row.ts).total_seconds()),
            via=_via(dense, sparse),
        )

    def neighbours(self, hits: Sequence[Hit], limit: int) -> list[Hit]:
        """Return neighbours of the hits, one step along the relations."""
        scores = {hit.entry.id: hit.score for hit in hits}
        steps = relations.neighbours(scores, self._seen, limit, self._request.matches)
        ids = [step.entry.id for step in steps]
        _, vectors, weights = _load(self._request, self._seen, self._rankings, ids)
        return [
            replace(
                self._hit(
                    step.entry,
                    step.score,
                    vectors.get(step.entry.id),
                    weights.get(step.entry.id),
                ),
                via=step.via,
            )
            for step in steps
        ]


def _too_far(request: Request, close: VectorHit | None) -> bool:
    min_cosine = request.min_score
    return min_cosine is not None and close is not None and close.cosine < min_cosine

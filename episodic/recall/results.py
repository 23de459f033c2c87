"""Hits: the best entries with their ranks, cosine and importance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from django.utils import timezone

from episodic.index import relations
from episodic.recall import fusion, ranking
from episodic.recall.ranking import Rankings
from episodic.recall.request import Request
from episodic.scopes import Reach
from episodic.vectors.base import VectorHit
from memory.models import JournalEntry
from memory.rules.convex import Parts


@dataclass(frozen=True, slots=True)
class Hit:
    """One entry of the answer. ``cosine`` is None while it has no vector.

    ``parts`` is what its score is made of; None where scores are not added up, and for
    neighbours of hits. ``via`` says which of the rankings by meaning and by words found
    it (both, dense or words), ``context`` when only the words around it did, and the
    relation and the hit for a neighbour of that hit.
    """

    entry: JournalEntry
    score: float
    cosine: float | None
    importance: float
    parts: Parts | None
    dense_rank: int | None
    sparse_rank: int | None
    rrf: float
    age_seconds: float
    via: str
    context_rank: int | None = None


def hits(
    request: Request,
    reach: Reach,
    rankings: Rankings,
    scores: Mapping[str, float],
    take: int,
) -> list[Hit]:
    """Return the best ``take`` entries, and those that tie with the last.

    By score, then newer first, then by id. Equal scores are common in rank fusion;
    which of them is newer shows when loaded. What is too far by the request's least
    cosine leaves its place to others.
    """
    if request.min_score is not None and rankings.vector is not None:
        ranking.complete_vectors(rankings, list(scores))
        scores = {
            entry_id: score
            for entry_id, score in scores.items()
            if not is_too_far(request, rankings.vectors.get(entry_id))
        }
    ids = sorted(scores, key=lambda e: (-scores[e], e))
    edge = scores[ids[take - 1]] if len(ids) > take else float("-inf")
    rows = reach.load([entry_id for entry_id in ids if scores[entry_id] >= edge])
    best = _hits(rows.values(), scores, rankings)
    if not request.explain:
        best = [replace(hit, parts=None) for hit in best]
    return sorted(best, key=lambda h: (-h.score, -h.entry.ts.timestamp(), h.entry.id))


def is_too_far(request: Request, vector: VectorHit | None) -> bool:
    """Whether a cosine is below the request's least; never without a vector."""
    min_score = request.min_score
    return min_score is not None and vector is not None and vector.cosine < min_score


def neighbours(
    request: Request, reach: Reach, rankings: Rankings, hits: Iterable[Hit]
) -> list[Hit]:
    """Return at most ``k`` neighbours of the hits, one step along the relations."""
    hit_scores = {hit.entry.id: hit.score for hit in hits}
    steps = relations.neighbours(hit_scores, reach, request.k, request.matches)
    scores = {step.entry.id: step.score for step in steps}
    rows = _hits([step.entry for step in steps], scores, rankings)
    return [
        replace(hit, via=step.via, parts=None)
        for hit, step in zip(rows, steps, strict=True)
    ]


def _hits(
    rows: Iterable[JournalEntry], scores: Mapping[str, float], rankings: Rankings
) -> list[Hit]:
    """Return rows as hits: with what the rankings, or else the index, know of them."""
    rows, now = list(rows), timezone.now()
    dense_ranks = {e: rank for rank, e in enumerate(rankings.dense_ids, 1)}
    word_ranks = {e: rank for rank, e in enumerate(rankings.word_ids, 1)}
    context_ranks = {e: rank for rank, e in enumerate(rankings.context_ids, 1)}
    ranking.complete_vectors(rankings, [row.id for row in rows])
    vectors = rankings.vectors
    hits = []
    for row in rows:
        vector = vectors.get(row.id)
        dense, word = dense_ranks.get(row.id), word_ranks.get(row.id)
        context = context_ranks.get(row.id)
        hit = Hit(
            entry=row,
            score=scores[row.id],
            cosine=vector.cosine if vector else None,
            importance=rankings.importance(row.id),
            parts=rankings.parts.get(row.id),
            dense_rank=dense,
            sparse_rank=word,
            rrf=sum(fusion.reciprocal(rank) for rank in (dense, word) if rank),
            age_seconds=max(0.0, (now - row.ts).total_seconds()),
            via=_via(dense, word, context),
            context_rank=context,
        )
        hits.append(hit)
    return hits


def _via(dense: int | None, word: int | None, context: int | None) -> str:
    """Return which rankings found an entry."""
    if dense:
        return "both" if word else "dense"
    return "context" if context and not word else "words"

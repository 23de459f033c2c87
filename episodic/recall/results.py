"""Hits: the best entries with their ranks, cosine and importance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from django.utils import timezone

from episodic.index import relations
from episodic.recall import fusion, ranking
from episodic.recall.fusion import Parts
from episodic.recall.ranking import Rankings
from episodic.recall.request import Request
from episodic.scopes import Reach
from memory.models import JournalEntry


@dataclass(frozen=True, slots=True)
class Hit:
    """One entry of the answer. ``cosine`` is None while it has no vector.

    ``parts`` is what its score is made of, None where scores are not added up.
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


def hits(
    request: Request,
    reach: Reach,
    rankings: Rankings,
    scores: Mapping[str, float],
    take: int,
) -> list[Hit]:
    """Return the best ``take`` entries, and those that tie with the last.

    By score, then newer first, then by id. Equal scores are common in rank fusion;
    which of them is newer shows when loaded.
    """
    ids = sorted(scores, key=lambda e: (-scores[e], e))
    edge = scores[ids[take - 1]] if len(ids) > take else float("-inf")
    rows = reach.load([entry_id for entry_id in ids if scores[entry_id] >= edge])
    best = _hits(rows.values(), scores, rankings)
    if request.min_score is not None:
        best = [h for h in best if h.cosine is None or h.cosine >= request.min_score]
    return sorted(best, key=lambda h: (-h.score, -h.entry.ts.timestamp(), h.entry.id))


def neighbours(
    request: Request, reach: Reach, rankings: Rankings, hits: Iterable[Hit]
) -> list[Hit]:
    """Return at most ``k`` neighbours of the hits, one step along the relations."""
    hit_scores = {hit.entry.id: hit.score for hit in hits}
    steps = relations.neighbours(hit_scores, reach, request.k, request.matches)
    scores = {step.entry.id: step.score for step in steps}
    rows = _hits([step.entry for step in steps], scores, rankings)
    return [replace(hit, via=step.via) for hit, step in zip(rows, steps, strict=True)]


def _hits(
    rows: Iterable[JournalEntry], scores: Mapping[str, float], rankings: Rankings
) -> list[Hit]:
    """Return rows as hits: with what the rankings, or else the index, know of them."""
    rows, now = list(rows), timezone.now()
    dense_ranks = {e: rank for rank, e in enumerate(rankings.dense_ids, 1)}
    word_ranks = {e: rank for rank, e in enumerate(rankings.word_ids, 1)}
    weights = ranking.complete_vectors(rankings, [row.id for row in rows])
    vectors = rankings.vectors
    hits = []
    for row in rows:
        vector = vectors.get(row.id)
        weight = vector.importance if vector else weights[row.id]
        dense, word = dense_ranks.get(row.id), word_ranks.get(row.id)
        hit = Hit(
            entry=row,
            score=scores[row.id],
            cosine=vector.cosine if vector else None,
            importance=weight,
            parts=rankings.parts.get(row.id),
            dense_rank=dense,
            sparse_rank=word,
            rrf=sum(fusion.reciprocal(rank) for rank in (dense, word) if rank),
            age_seconds=max(0.0, (now - row.ts).total_seconds()),
            via="both" if dense and word else "dense" if dense else "words",
        )
        hits.append(hit)
    return hits

"""Recall: the dense ranking, the word ranking, and the two fused.

When the embedder does not answer, only the dense ranking is missing; the answer says
so in ``degraded``. The caller's scope is part of every query that reads entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from episodic import scopes
from episodic.embedders.base import EmbedderError
from episodic.index import engine
from episodic.index.reference_counts import reference_counts
from episodic.recall import fusion, results
from episodic.recall.request import (
    K_DEFAULT,
    K_MAX,
    MIN_RANKING,
    QUERY_CHARS,
    Mode,
    Rankings,
    Request,
    Timings,
    check,
    settled,
    vector_scope,
)
from episodic.recall.results import Hit
from episodic.scopes import Reach
from episodic.vectors.base import VectorHit
from memory import fulltext
from memory.fulltext import WordHit, WordScope
from memory.models import JournalEntry
from memory.rules.fusion import Fusion
from memory.rules.permissions import Actor

__all__ = [
    "K_DEFAULT",
    "K_MAX",
    "MIN_RANKING",
    "QUERY_CHARS",
    "Answer",
    "Fusion",
    "Hit",
    "Mode",
    "Rankings",
    "Request",
    "Timings",
    "check",
    "fuse",
    "hits",
    "rank",
    "search",
    "vector_scope",
    "word_scope",
]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a recall returns, and everything needed to explain it."""

    request: Request
    reach: Reach
    hits: list[Hit]
    below: list[Hit]
    rankings: Rankings
    timings: Timings
    model: str | None


def word_scope(request: Request, reach: Reach) -> WordScope:
    """Return what the word ranking may search: what embeds, unless types are named."""
    return WordScope(
        workspace_id=reach.workspace_id,
        crew_id=reach.crew_id,
        agent_id=reach.agent_id,
        rules_crew_id=reach.rules_crew_id,
        entry_types=request.entry_types,
        since=request.since,
        until=request.until,
        embeddable_only=not request.entry_types,
    )


Ranked = TypeVar("Ranked", VectorHit, WordHit)


def _recorded_by(
    moment: datetime | None, size: int, search: Callable[[int], Sequence[Ranked]]
) -> list[Ranked]:
    """Return the best ``size`` of what was recorded by a moment, None for any.

    Neither index knows when an entry was recorded: the search is widened until enough
    entries are old enough, or there are no more.
    """
    wide = size
    while True:
        ranking = list(search(wide))
        if moment is None:
            return ranking
        ids = [item.entry_id for item in ranking]
        rows = JournalEntry.objects.filter(pk__in=ids, recorded_at__lte=moment)
        recorded = set(rows.values_list("pk", flat=True))
        old_enough = [item for item in ranking if item.entry_id in recorded]
        if len(old_enough) >= size or len(ranking) < wide:
            return old_enough[:size]
        wide *= 4


def _rank_dense(
    request: Request, reach: Reach, size: int, rankings: Rankings, t: Timings
) -> None:
    try:
        with t.stage("embed"):
            rankings.vector = engine.embedder().embed_query(request.query)
    except EmbedderError as error:
        rankings.degraded = f"dense ranking unavailable ({error.reason}): words only"
        return
    with t.stage("dense"):
        scope = vector_scope(request, reach)
        rankings.dense = result = engine.vectors().search(rankings.vector, scope, size)
        if request.as_of is not None:
            vector, vectors = rankings.vector, engine.vectors()
            hits = _recorded_by(
                request.as_of, size, lambda n: vectors.search(vector, scope, n).hits
            )
            rankings.dense = replace(result, hits=hits)


def _rank_words(
    request: Request, reach: Reach, size: int, rankings: Rankings, t: Timings
) -> None:
    with t.stage("sparse"):
        rankings.word_query = fulltext.word_query(reach.workspace_id, request.query)
        scope = word_scope(request, reach)
        rankings.words = _recorded_by(
            request.as_of, size, lambda n: fulltext.rank(rankings.word_query, scope, n)
        )


def rank(request: Request, reach: Reach, timings: Timings) -> Rankings:
    """Return the rankings of the mode; words replace a dense ranking that failed."""
    rankings = Rankings()
    size = max(MIN_RANKING, 3 * request.k)
    if request.mode is not Mode.SPARSE:
        _rank_dense(request, reach, size, rankings, timings)
    if request.mode is not Mode.DENSE or rankings.degraded:
        _rank_words(request, reach, size, rankings, timings)
    return rankings


def fuse(request: Request, rankings: Rankings) -> dict[str, float]:
    """Return the score of every entry that a ranking found, for a settled request."""
    fused_by = request.fused_by
    if request.mode is Mode.DENSE and not rankings.degraded:
        return {hit.entry_id: hit.score for hit in rankings.dense.hits}
    if fused_by is Fusion.CONVEX and request.mode is Mode.HYBRID:
        return fusion.convex(
            {hit.entry_id: hit.score for hit in rankings.dense.hits},
            {hit.entry_id: hit.score for hit in rankings.words},
            lowest=rankings.dense.lowest,
            highest=rankings.dense.highest,
        )
    return fusion.rrf([rankings.dense_ids, rankings.word_ids])


def hits(
    request: Request,
    reach: Reach,
    rankings: Rankings,
    scores: dict[str, float],
    take: int,
) -> list[Hit]:
    """Return the best ``take`` entries, and those that tie with the last."""
    return results.HitBuilder(request, reach, rankings).of(scores, take)


def _depth(request: Request, reach: Reach) -> int:
    return reach.walk_depth if request.walk_depth is None else request.walk_depth


def search(request: Request, *, by: Actor) -> Answer:
    """Answer a recall in the caller's scope.

    With a ``walk_depth`` of 1, at most ``k`` neighbours of the hits follow them.

    Exactly the hits returned are counted as referenced, unless ``mark`` is false.
    With ``explain`` the entries just below the cut come along in ``below``.
    """
    by.require("recall.ask")
    request = settled(request, by.workspace_id)
    reach = scopes.reach(request.scope, request.crew_id, request.agent_id, by=by)
    timings = Timings()
    with timings.stage("total"):
        rankings = rank(request, reach, timings)
        with timings.stage("fuse"):
            scores = fuse(request, rankings)
        with timings.stage("load"):
            take = request.k + (10 if request.explain else 0)
            builder = results.HitBuilder(request, reach, rankings)
            ranking = builder.of(scores, take)
            returned, below = ranking[: request.k], ranking[request.k : take]
            if _depth(request, reach):
                returned += builder.neighbours(returned, request.k)
                returned_ids = {hit.entry.id for hit in returned}
                below = [hit for hit in below if hit.entry.id not in returned_ids]
    if request.mark and returned:
        reference_counts.add(hit.entry.id for hit in returned)
    model = engine.embedder().model or None
    return Answer(request, reach, returned, below, rankings, timings, model)

"""The two rankings of a question, by meaning and by words, and the score of both.

When the embedder does not answer, only the dense ranking is missing; the answer says
so in ``degraded``. The caller's scope is part of every query that reads entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from episodic.embedders.base import EmbedderError
from episodic.index import engine, waiting
from episodic.recall import fusion
from episodic.recall.request import Mode, Request, Timings
from episodic.scopes import Reach
from episodic.vectors.base import SearchResult, VectorHit, VectorScope
from memory import fulltext
from memory.fulltext import WordHit, WordQuery
from memory.models import JournalEntry
from memory.rules.fusion import Fusion

MIN_RANKING: Final = 50
Ranked = TypeVar("Ranked", VectorHit, WordHit)


@dataclass(slots=True)
class Rankings:
    """What both rankings found in a scope before fusion."""

    scope: VectorScope
    dense: SearchResult = field(default_factory=lambda: SearchResult([], 0))
    words: list[WordHit] = field(default_factory=list)
    word_query: WordQuery = field(default_factory=lambda: WordQuery((), (), ()))
    degraded: str | None = None
    vector: NDArray[np.float32] | None = None

    @property
    def dense_ids(self) -> list[str]:
        """The dense ranking, best first."""
        return [hit.entry_id for hit in self.dense.hits]

    @property
    def word_ids(self) -> list[str]:
        """The word ranking, best first."""
        return [hit.entry_id for hit in self.words]


def rank(request: Request, reach: Reach, timings: Timings) -> Rankings:
    """Return the rankings of the mode; words replace a dense ranking that failed."""
    scope = VectorScope(
        workspace_id=reach.workspace_id,
        model=engine.embedder().model,
        crew_id=reach.crew_id,
        agent_id=reach.agent_id,
        rules_crew_id=reach.rules_crew_id,
        entry_types=request.entry_types,
        since=request.since,
        until=request.until,
        # By words only what embeds is found, unless types are named.
        embeddable_only=not request.entry_types,
    )
    rankings, size = Rankings(scope), max(MIN_RANKING, 3 * request.k)
    if request.mode is not Mode.SPARSE:
        _rank_dense(rankings, request, size, timings)
    if request.mode is not Mode.DENSE or rankings.degraded:
        with timings.stage("sparse"):
            query = fulltext.word_query(scope.workspace_id, request.query)
            search = partial(fulltext.rank, query, scope)
            rankings.word_query = query
            rankings.words = _recorded_by(request.as_of, size, search)
    return rankings


def _rank_dense(
    rankings: Rankings, request: Request, size: int, timings: Timings
) -> None:
    try:
        with timings.stage("embed"):
            waiting.embed_for(rankings.scope)
            rankings.vector = engine.embedder().embed_query(request.query)
    except EmbedderError as error:
        rankings.degraded = f"dense ranking unavailable ({error.reason}): words only"
        return
    with timings.stage("dense"):
        search = partial(engine.vectors().search, rankings.vector, rankings.scope)
        rankings.dense = search(size)
        if request.as_of is not None:
            hits = _recorded_by(request.as_of, size, lambda n: search(n).hits)
            rankings.dense = replace(rankings.dense, hits=hits)


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

"""Recall: the dense leg, the word leg, and the two fused.

An embedder that does not answer costs the dense leg and nothing else; the answer says
so in ``degraded``. The caller's scope is part of every query that reads entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from episodic.embedders.base import EmbedderError
from episodic.index import engine
from episodic.index.reference_counts import marks
from episodic.recall import fusion
from episodic.recall import results as hits_of
from episodic.recall.request import (
    K_DEFAULT,
    K_MAX,
    LEG_LEAST,
    QUERY_CHARS,
    Legs,
    Mode,
    Request,
    Timings,
    check,
    settled,
    vector_scope,
)
from episodic.recall.results import Hit
from episodic.scopes import Reach, reach
from episodic.vectors.base import Near
from memory import fulltext
from memory.fulltext import WordHit, WordScope
from memory.models import JournalEntry
from memory.rules.fusion import Fusion
from memory.rules.permissions import Actor

__all__ = [
    "K_DEFAULT",
    "K_MAX",
    "LEG_LEAST",
    "QUERY_CHARS",
    "Answer",
    "Fusion",
    "Hit",
    "Legs",
    "Mode",
    "Request",
    "Timings",
    "ask",
    "ask_legs",
    "check",
    "fuse",
    "hits",
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
    legs: Legs
    timings: Timings
    model: str | None


def word_scope(request: Request, seen: Reach) -> WordScope:
    """Return what the word leg may search: what embeds, unless types are named."""
    return WordScope(
        workspace_id=seen.workspace_id,
        crew_id=seen.crew_id,
        agent_id=seen.agent_id,
        rules_crew_id=seen.rules_crew_id,
        entry_types=request.entry_types,
        since=request.since,
        until=request.until,
        embeddable_only=not request.entry_types,
    )


One = TypeVar("One", Near, WordHit)


def _recorded_by(
    moment: datetime | None, size: int, search: Callable[[int], Sequence[One]]
) -> list[One]:
    """Return the best ``size`` of what was recorded by a moment, None for any.

    Neither index knows when an entry was recorded: ever more is fetched until enough
    of it is old enough, or there is no more.
    """
    wide = size
    while True:
        found = list(search(wide))
        if moment is None:
            return found
        ids = [one.entry_id for one in found]
        rows = JournalEntry.objects.filter(pk__in=ids, recorded_at__lte=moment)
        known = set(rows.values_list("pk", flat=True))
        kept = [one for one in found if one.entry_id in known]
        if len(kept) >= size or len(found) < wide:
            return kept[:size]
        wide *= 4


def _ask_dense(
    request: Request, seen: Reach, size: int, legs: Legs, t: Timings
) -> None:
    try:
        with t.stage("embed"):
            legs.vector = engine.embedder().embed_query(request.query)
    except EmbedderError as error:
        legs.degraded = f"dense leg unavailable ({error.reason}): words only"
        return
    with t.stage("dense"):
        scope = vector_scope(request, seen)
        legs.dense = found = engine.vectors().search(legs.vector, scope, size)
        if request.as_of is not None:
            vector, vectors = legs.vector, engine.vectors()
            near = _recorded_by(
                request.as_of, size, lambda n: vectors.search(vector, scope, n).hits
            )
            legs.dense = replace(found, hits=near)


def _ask_words(
    request: Request, seen: Reach, size: int, legs: Legs, t: Timings
) -> None:
    with t.stage("sparse"):
        legs.asked = fulltext.ask(seen.workspace_id, request.query)
        scope = word_scope(request, seen)
        legs.words = _recorded_by(
            request.as_of, size, lambda n: fulltext.rank(legs.asked, scope, n)
        )


def ask_legs(request: Request, seen: Reach, timings: Timings) -> Legs:
    """Ask the legs that the mode wants; words stand in for a dense leg that is out."""
    legs = Legs()
    size = max(LEG_LEAST, 3 * request.k)
    if request.mode is not Mode.SPARSE:
        _ask_dense(request, seen, size, legs, timings)
    if request.mode is not Mode.DENSE or legs.degraded:
        _ask_words(request, seen, size, legs, timings)
    return legs


def fuse(request: Request, legs: Legs) -> dict[str, float]:
    """Return the score of every entry that a leg found, for a settled request."""
    fused_by = request.fused_by
    if request.mode is Mode.DENSE and not legs.degraded:
        return {near.entry_id: near.score for near in legs.dense.hits}
    if fused_by is Fusion.CONVEX and request.mode is Mode.HYBRID:
        return fusion.convex(
            {near.entry_id: near.score for near in legs.dense.hits},
            {hit.entry_id: hit.score for hit in legs.words},
            lowest=legs.dense.lowest,
            highest=legs.dense.highest,
        )
    return fusion.rrf([legs.dense_ids, legs.word_ids])


def hits(
    request: Request, seen: Reach, legs: Legs, scores: dict[str, float], take: int
) -> list[Hit]:
    """Return the best ``take`` entries, and those that tie with the last."""
    return hits_of.Maker(request, seen, legs).of(scores, take)


def _depth(request: Request, seen: Reach) -> int:
    return seen.walk_depth if request.walk_depth is None else request.walk_depth


def ask(request: Request, *, by: Actor) -> Answer:
    """Answer a recall in the caller's scope.

    With a walk depth of 1, at most ``k`` neighbours of the hits follow them.

    Exactly the hits returned are counted as referenced, unless ``mark`` is false.
    With ``explain`` the entries just below the cut come along in ``below``.
    """
    by.require("recall.ask")
    request = settled(request, by.workspace_id)
    seen = reach(request.scope, request.crew_id, request.agent_id, by=by)
    timings = Timings()
    with timings.stage("total"):
        legs = ask_legs(request, seen, timings)
        with timings.stage("fuse"):
            scores = fuse(request, legs)
        with timings.stage("load"):
            take = request.k + (10 if request.explain else 0)
            maker = hits_of.Maker(request, seen, legs)
            found = maker.of(scores, take)
            chosen, below = found[: request.k], found[request.k : take]
            if _depth(request, seen):
                chosen += maker.beside(chosen, request.k)
                walked = {hit.entry.id for hit in chosen}
                below = [hit for hit in below if hit.entry.id not in walked]
    if request.mark and chosen:
        marks.add(hit.entry.id for hit in chosen)
    model = engine.embedder().model or None
    return Answer(request, seen, chosen, below, legs, timings, model)

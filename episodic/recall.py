"""Recall: the dense leg, the word leg, and the two fused.

An embedder that does not answer costs the dense leg and nothing else; the answer says
so in ``degraded``. The caller's scope is part of every query that reads entries.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

import numpy as np
from django.utils import timezone
from numpy.typing import NDArray

from episodic import engine
from episodic.embedders.base import EmbedderError
from episodic.marks import marks
from episodic.models import Embedding
from episodic.rules import fusion, importance
from episodic.scopes import Reach, reach
from episodic.vectors.base import Found, Near, VectorScope
from memory import lexical
from memory.lexical import WordHit, WordQuery, WordScope
from memory.models import JournalEntry
from memory.rules import errors
from memory.rules.actors import Actor

K_MAX: Final = 50
K_DEFAULT: Final = 5
LEG_LEAST: Final = 50
QUERY_CHARS: Final = 4_000


class Mode(StrEnum):
    """Which legs answer."""

    HYBRID = "hybrid"
    DENSE = "dense"
    SPARSE = "sparse"


class Fusion(StrEnum):
    """How two legs become one list."""

    RRF = "rrf"
    CONVEX = "convex"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One recall; ``k`` outside 1..50 is clamped, the API refuses it before."""

    query: str
    scope: str | None = None
    crew_id: str | None = None
    agent_id: str | None = None
    k: int = K_DEFAULT
    mode: Mode = Mode.HYBRID
    fusion: Fusion = Fusion.RRF
    entry_types: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    min_score: float | None = None
    walk_depth: int | None = None
    explain: bool = False
    mark: bool = True


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


@dataclass(slots=True)
class Timings:
    """Milliseconds per stage."""

    embed: float = 0.0
    dense: float = 0.0
    sparse: float = 0.0
    fuse: float = 0.0
    load: float = 0.0
    total: float = 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of a block to a stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = (time.perf_counter() - start) * 1000
            setattr(self, name, round(getattr(self, name) + spent, 3))


@dataclass(slots=True)
class Legs:
    """What both legs found before fusion."""

    dense: Found = field(default_factory=lambda: Found([], 0))
    words: list[WordHit] = field(default_factory=list)
    asked: WordQuery = field(default_factory=lambda: WordQuery((), (), ()))
    degraded: str | None = None
    vector: NDArray[np.float32] | None = None

    @property
    def dense_ids(self) -> list[str]:
        """The dense leg, best first."""
        return [near.entry_id for near in self.dense.hits]

    @property
    def word_ids(self) -> list[str]:
        """The word leg, best first."""
        return [hit.entry_id for hit in self.words]


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


def check(request: Request) -> Request:
    """Return the request with ``k`` clamped; raise Invalid for an impossible one."""
    if not request.query.strip():
        raise errors.Invalid("query must not be empty.", code="empty_query")
    if len(request.query) > QUERY_CHARS:
        raise errors.TooLarge(what="query", limit=QUERY_CHARS, size=len(request.query))
    if request.since and request.until and request.since > request.until:
        raise errors.Invalid("since lies after until.", code="bad_range")
    return replace(request, k=min(K_MAX, max(1, request.k)))


def vector_scope(request: Request, seen: Reach) -> VectorScope:
    """Return what the dense leg may search."""
    return VectorScope(
        workspace_id=seen.workspace_id,
        model=engine.embedder().model,
        crew_id=seen.crew_id,
        agent_id=seen.agent_id,
        entry_types=request.entry_types,
        since=request.since,
        until=request.until,
    )


def word_scope(request: Request, seen: Reach) -> WordScope:
    """Return what the word leg may search: what embeds, unless types are named."""
    return WordScope(
        workspace_id=seen.workspace_id,
        crew_id=seen.crew_id,
        agent_id=seen.agent_id,
        entry_types=request.entry_types,
        since=request.since,
        until=request.until,
        embeddable_only=not request.entry_types,
    )


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
        legs.dense = engine.vectors().search(legs.vector, scope, size)


def _ask_words(
    request: Request, seen: Reach, size: int, legs: Legs, t: Timings
) -> None:
    with t.stage("sparse"):
        legs.asked = lexical.ask(seen.workspace_id, request.query)
        legs.words = lexical.rank(legs.asked, word_scope(request, seen), size)


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
    """Return the score of every entry that a leg found."""
    if request.mode is Mode.DENSE and not legs.degraded:
        return {near.entry_id: near.score for near in legs.dense.hits}
    if request.fusion is Fusion.CONVEX and request.mode is Mode.HYBRID:
        return fusion.convex(
            {near.entry_id: near.score for near in legs.dense.hits},
            {hit.entry_id: hit.score for hit in legs.words},
            lowest=legs.dense.lowest,
            highest=legs.dense.highest,
        )
    return fusion.rrf([legs.dense_ids, legs.word_ids])


def _via(dense: int | None, sparse: int | None) -> str:
    if dense and sparse:
        return "both"
    return "dense" if dense else "words"


def _load(
    request: Request, seen: Reach, legs: Legs, ids: Sequence[str]
) -> tuple[dict[str, JournalEntry], dict[str, Near], dict[str, float]]:
    """Return rows, nearness and stored weights of the chosen entries."""
    rows = seen.load(ids)
    near = {hit.entry_id: hit for hit in legs.dense.hits if hit.entry_id in rows}
    missing = [entry_id for entry_id in rows if entry_id not in near]
    if legs.vector is not None and missing:
        scope = vector_scope(request, seen)
        near |= engine.vectors().of(legs.vector, scope, missing)
    weights = Embedding.objects.filter(pk__in=missing)
    return rows, near, dict(weights.values_list("entry_id", "importance_score"))


def _leading(scores: dict[str, float], take: int) -> list[str]:
    """Return the best ids, and every id that ties with the last of them.

    Equal scores are common in rank fusion; which of them is newer shows when loaded.
    """
    ordered = sorted(scores, key=lambda e: (-scores[e], e))
    edge = scores[ordered[take - 1]] if len(ordered) > take else float("-inf")
    return [entry_id for entry_id in ordered if scores[entry_id] >= edge]


def _ranks(ids: Sequence[str]) -> dict[str, int]:
    return {entry_id: rank for rank, entry_id in enumerate(ids, 1)}


def hits(
    request: Request, seen: Reach, legs: Legs, scores: dict[str, float], take: int
) -> list[Hit]:
    """Return the best entries as hits: by score, then newer first, then by id."""
    chosen = _leading(scores, take)
    rows, near, weights = _load(request, seen, legs, chosen)
    dense, words = _ranks(legs.dense_ids), _ranks(legs.word_ids)
    now = timezone.now()
    made: list[Hit] = []
    for entry_id in chosen:
        row, close = rows.get(entry_id), near.get(entry_id)
        if row is None or _too_far(request, close):
            continue
        ranks = dense.get(entry_id), words.get(entry_id)
        weight = importance.base(row.entry_type, row.severity, row.priority)
        made.append(
            Hit(
                entry=row,
                score=scores[entry_id],
                cosine=close.cosine if close else None,
                importance=close.importance if close else weights.get(entry_id, weight),
                dense_rank=ranks[0],
                sparse_rank=ranks[1],
                rrf=sum(fusion.reciprocal(rank) for rank in ranks if rank),
                age_seconds=max(0.0, (now - row.ts).total_seconds()),
                via=_via(*ranks),
            )
        )
    made.sort(key=lambda h: (-h.score, -h.entry.ts.timestamp(), h.entry.id))
    return made


def _too_far(request: Request, close: Near | None) -> bool:
    least = request.min_score
    return least is not None and close is not None and close.cosine < least


def ask(request: Request, *, by: Actor) -> Answer:
    """Answer a recall in the caller's scope.

    Exactly the hits returned are counted as referenced, unless ``mark`` is false.
    With ``explain`` the entries just below the cut come along in ``below``.
    """
    by.require("recall.ask")
    request = check(request)
    seen = reach(request.scope, request.crew_id, request.agent_id, by=by)
    timings = Timings()
    with timings.stage("total"):
        legs = ask_legs(request, seen, timings)
        with timings.stage("fuse"):
            scores = fuse(request, legs)
        with timings.stage("load"):
            take = request.k + (10 if request.explain else 0)
            found = hits(request, seen, legs, scores, take)
    chosen, below = found[: request.k], found[request.k : take]
    if request.mark and chosen:
        marks.add(hit.entry.id for hit in chosen)
    model = engine.embedder().model or None
    return Answer(request, seen, chosen, below, legs, timings, model)

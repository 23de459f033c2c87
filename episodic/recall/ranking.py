"""The rankings of a question: by meaning, by words, and by the words around an entry.

Here too is the score of every entry that one of them found.

When the embedder does not answer, only the dense ranking is missing; the answer says
so in ``degraded``. The caller's scope is part of every query that reads entries.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop
from numpy.typing import NDArray

from episodic.embedders.base import EmbedderError
from episodic.index import engine, importance, waiting
from episodic.models import Embedding
from episodic.recall import fusion, preferences
from episodic.recall.preferences import Preferences
from episodic.recall.request import Mode, Request, Timings
from episodic.scopes import Reach
from episodic.vectors.base import SearchResult, VectorHit, VectorScope
from memory import fulltext
from memory.fulltext import WordHit, WordQuery
from memory.models import JournalEntry
from memory.rules import convex
from memory.rules.convex import Parts, Signals
from memory.rules.fusion import Fusion
from memory.word_index import ranking as word_ranking
from memory.word_index.answers import WordAnswer

MIN_RANKING: Final = 50
_UNAVAILABLE: Final = gettext_noop("dense ranking unavailable ({reason}): words only")
_REASON: Final = re.compile(r"dense ranking unavailable \((.*)\): words only")


@dataclass(slots=True)
class Rankings:
    """What the rankings found in a scope, and the score of every entry they found.

    ``context`` ranks by the words around an entry in its thread. ``vectors`` has the
    cosines that are known so far, ``importances`` those of entries without a vector to
    compare. ``parts`` is what each score of convex is made of,
    and ``signals`` what it was made from, also for the entries directly beside the
    candidates; both are empty for other fusions.
    """

    scope: VectorScope
    dense: SearchResult = field(default_factory=lambda: SearchResult([], 0))
    words: list[WordHit] = field(default_factory=list)
    context: list[WordHit] = field(default_factory=list)
    word_query: WordQuery = field(default_factory=lambda: WordQuery((), ()))
    word_answer: WordAnswer | None = None
    degraded: str | None = None
    vector: NDArray[np.float32] | None = None
    vectors: dict[str, VectorHit] = field(default_factory=dict)
    importances: dict[str, float] = field(default_factory=dict)
    preferences: Preferences = field(default_factory=Preferences)
    parts: dict[str, Parts] = field(default_factory=dict)
    signals: dict[str, Signals] = field(default_factory=dict)

    @property
    def dense_ids(self) -> list[str]:
        """The dense ranking, best first."""
        return [hit.entry_id for hit in self.dense.hits]

    @property
    def word_ids(self) -> list[str]:
        """The word ranking, best first."""
        return [hit.entry_id for hit in self.words]

    @property
    def context_ids(self) -> list[str]:
        """The ranking by the words around entries, best first."""
        return [hit.entry_id for hit in self.context]

    def importance(self, entry_id: str) -> float:
        """Return an entry's importance, once ``complete_vectors`` has read it."""
        vector = self.vectors.get(entry_id)
        return vector.importance if vector else self.importances.get(entry_id, 0.5)

    @property
    def candidates(self) -> list[str]:
        """The entries that any ranking found."""
        ids = (*self.dense_ids, *self.word_ids, *self.context_ids)
        return list(dict.fromkeys(ids))


def is_convex(request: Request) -> bool:
    """Whether a settled request adds up what all signals say."""
    return request.mode is Mode.HYBRID and request.fused_by is Fusion.CONVEX


def rule(request: Request, rankings: Rankings) -> str:
    """Return what decides the order: rrf, convex, or product (cosine × importance)."""
    if request.mode is Mode.DENSE and not rankings.degraded:
        return "product"
    return Fusion.CONVEX.value if is_convex(request) else Fusion.RRF.value


def described(request: Request, rankings: Rankings) -> dict[str, Any]:
    """Return the rule by name, with the version and weights of convex."""
    name = rule(request, rankings)
    if name != Fusion.CONVEX:
        return {"name": name}
    weights = convex.weights()
    return {"name": name, "version": convex.VERSION, "weights": weights}


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
        recorded_until=request.as_of,
    )
    rankings, size = Rankings(scope), max(MIN_RANKING, 3 * request.k)
    if request.mode is not Mode.SPARSE:
        _rank_dense(rankings, request, size, timings)
    if is_convex(request):
        now = request.as_of or timezone.now()
        rankings.preferences = preferences.read(request.query, reach, now)
    if request.mode is not Mode.DENSE or rankings.degraded:
        with timings.stage("sparse"):
            left_out = rankings.preferences.unsearched_places
            rankings.word_query = fulltext.word_query(request.query, left_out)
            answer = word_ranking.search(
                rankings.word_query, scope, size, also=rankings.dense_ids
            )
            # The context first: what the words need is read with it.
            if is_convex(request):
                rankings.context = answer.context_hits
            rankings.word_answer, rankings.words = answer, answer.hits
    return rankings


def _rank_dense(
    rankings: Rankings, request: Request, size: int, timings: Timings
) -> None:
    try:
        with timings.stage("embed"):
            rankings.vector = engine.embedder().embed_query(request.query)
            # Not of an embedder that has just failed: it would be waited for twice.
            waiting.embed_for(rankings.scope)
    except EmbedderError as error:
        # In English: the recall log and the runs of saved checks keep it.
        rankings.degraded = _UNAVAILABLE.format(reason=error.reason)
        return
    with timings.stage("dense"):
        rankings.dense = engine.vectors().search(
            rankings.vector, rankings.scope, size, centred=is_convex(request)
        )
        rankings.vectors = {hit.entry_id: hit for hit in rankings.dense.hits}


def degraded_text(stored: str | None) -> str:
    """Return what an answer says of a missing ranking, in the reader's language."""
    match = _REASON.fullmatch(stored or "")
    return gettext(_UNAVAILABLE).format(reason=match[1]) if match else stored or ""


def fuse(request: Request, rankings: Rankings) -> dict[str, float]:
    """Return the score of every entry that a ranking found, for a settled request."""
    if request.mode is Mode.DENSE and not rankings.degraded:
        return {hit.entry_id: hit.score for hit in rankings.dense.hits}
    if is_convex(request):
        rankings.parts = _parts(rankings)
        return {entry_id: parts.total for entry_id, parts in rankings.parts.items()}
    return fusion.rrf([rankings.dense_ids, rankings.word_ids])


def _parts(rankings: Rankings) -> dict[str, Parts]:
    """Complete the values of every candidate, and return the parts of its score."""
    candidates, answer = rankings.candidates, rankings.word_answer
    details = answer.details(candidates) if answer else {}
    # An entry may have left the scope since it was ranked.
    candidates = [entry_id for entry_id in candidates if entry_id in details]
    complete_vectors(rankings, list(details))
    preferred = _preferred(rankings.preferences, candidates)
    signals = rankings.signals
    for entry_id, detail in details.items():
        vector = rankings.vectors.get(entry_id)
        signals[entry_id] = Signals(
            meaning=vector.centred if vector else None,
            words=detail.own + detail.pairs,
            context=detail.context,
            length=detail.length,
            importance=rankings.importance(entry_id),
            before=detail.before,
            after=detail.after,
            thread=detail.thread,
            preference=preferred.get(entry_id, 0.0),
        )
    return convex.fuse(
        signals,
        candidates,
        lowest=rankings.dense.lowest,
        highest=rankings.dense.highest,
    )


def complete_vectors(rankings: Rankings, entry_ids: list[str]) -> None:
    """Read the vectors that no ranking has, and the importance of those without one."""
    complete_ids = rankings.vectors.keys() | rankings.importances.keys()
    unread_ids = [e for e in entry_ids if e not in complete_ids]
    if rankings.vector is not None and unread_ids:
        index = engine.vectors()
        rankings.vectors |= index.of(rankings.vector, rankings.scope, unread_ids)
        unread_ids = [e for e in unread_ids if e not in rankings.vectors]
    if unread_ids:
        rankings.importances |= _importances(unread_ids)


def _importances(entry_ids: list[str]) -> dict[str, float]:
    """Return the importance of entries that have no vector to compare."""
    stored = Embedding.objects.filter(pk__in=entry_ids)
    weights = dict(stored.values_list("entry_id", "importance_score"))
    unknown = [e for e in entry_ids if e not in weights]
    if unknown:
        rows = JournalEntry.objects.filter(pk__in=unknown)
        weights |= {
            entry_id: importance.base(kind, severity, priority)
            for entry_id, kind, severity, priority in rows.values_list(
                "id", "entry_type", "severity", "priority"
            )
        }
    return weights


def _preferred(wishes: Preferences, entry_ids: list[str]) -> dict[str, float]:
    """Return how well entries fit what the question prefers."""
    if not wishes:
        return {}
    rows = JournalEntry.objects.filter(pk__in=entry_ids).order_by()
    stored = list(rows.only("id", "ts", "agent_id", "crew_id", "actor_id"))
    values = wishes.values(stored)
    return {row.id: value.total for row, value in zip(stored, values, strict=True)}

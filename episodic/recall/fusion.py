"""Fusion of the rankings of a question into one score.

rrf     score(d) = Σ over rankings of 1 / (60 + rank of d in the ranking), rank from 1
        (Cormack, Clarke and Büttcher 2009, with their k = 60)

convex  A weighted sum over the candidates, which any ranking found. Each candidate has
        its real values in all of them; none is zero for not being in a ranking's cut:

        meaning       0.40 × centred cosine, scaled to 0..1 over everything in scope
        words         0.30 × BM25 of the entry's words and pairs of words, of the best
        context       0.30 × BM25 of the words around it in its thread, of the best
        substance     0.10 × how much it says, full from 40 words on
        neighbours    0.16 × the sum of the above of each entry directly beside it
        conversation  0.40 × the best such sum of a candidate of the same trace
        preference    0.10 × how well it fits each of time and names in the question

        The sum is multiplied with 0.75 + importance / 2, which is 1 for an ordinary
        entry, and divided by what a perfect entry would have, so that it lies in 0..1.
        An entry without a vector is judged by the other values alone; one without a
        trace is a conversation of its own.

The weights of convex were chosen on the train halves of labelled sets; the README of
this package has the figures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

K: Final = 60

# Raised when a formula or weight of convex changes.
CONVEX_VERSION: Final = 2
MEANING: Final = 0.40
WORDS: Final = 0.30
CONTEXT: Final = 0.30
SUBSTANCE: Final = 0.10
NEIGHBOURS: Final = 0.16
CONVERSATION: Final = 0.40
PREFERENCE: Final = 0.10
FULL_LENGTH: Final = 40
ORDINARY: Final = 0.75
IMPORTANCE: Final = 0.5
_BASE: Final = MEANING + WORDS + CONTEXT + SUBSTANCE
_PERFECT: Final = (
    _BASE * (1 + 2 * NEIGHBOURS) * (1 + CONVERSATION) + 2 * PREFERENCE
) * (ORDINARY + IMPORTANCE)


@dataclass(frozen=True, slots=True)
class Signals:
    """The values of one entry before they are scaled.

    ``meaning`` is its centred cosine, None without a vector. ``before``, ``after`` and
    ``thread`` are those of ``memory.word_index.answers.WordDetail``; ``preference``
    sums how well it fits what the question prefers, 0..2.
    """

    meaning: float | None = None
    words: float = 0.0
    context: float = 0.0
    length: int = 0
    importance: float = 0.5
    before: str | None = None
    after: str | None = None
    thread: int | None = None
    preference: float = 0.0


@dataclass(frozen=True, slots=True)
class Parts:
    """What each signal adds to a score of 0..1."""

    meaning: float
    words: float
    context: float
    substance: float
    neighbours: float = 0.0
    conversation: float = 0.0
    preference: float = 0.0

    @property
    def total(self) -> float:
        return (
            self.meaning
            + self.words
            + self.context
            + self.substance
            + self.neighbours
            + self.conversation
            + self.preference
        )

    def plain(self, importance: float) -> Parts:
        """Return the parts as they were before importance weighed them."""
        factor = _factor(importance)
        return Parts(
            self.meaning / factor,
            self.words / factor,
            self.context / factor,
            self.substance / factor,
            self.neighbours / factor,
            self.conversation / factor,
            self.preference / factor,
        )


def importance_factor(importance: float) -> float:
    """Return what the sum is multiplied with, 1 for an ordinary entry."""
    return ORDINARY + IMPORTANCE * importance


def _factor(importance: float) -> float:
    return importance_factor(importance) / _PERFECT


def most_neighbours() -> float:
    """Return what two perfect neighbours add, before importance."""
    return NEIGHBOURS * 2 * _BASE


def weights() -> dict[str, float]:
    """Return the weight of each signal of convex."""
    return {
        "meaning": MEANING,
        "words": WORDS,
        "context": CONTEXT,
        "substance": SUBSTANCE,
        "neighbours": NEIGHBOURS,
        "conversation": CONVERSATION,
        "preference": PREFERENCE,
    }


def reciprocal(rank: int) -> float:
    """Return what one ranking adds for a rank counted from 1."""
    return 1.0 / (K + rank)


def rrf(rankings: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return the fused score of every id; each ranking lists ids best first."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, entry_id in enumerate(ranking, start=1):
            scores[entry_id] = scores.get(entry_id, 0.0) + reciprocal(rank)
    return scores


@dataclass(frozen=True, slots=True)
class _Scales:
    """What brings each signal to 0..1."""

    lowest: float
    span: float
    words: float
    context: float

    def parts(self, signals: Signals) -> Parts:
        """Return what an entry's own values add, before importance."""
        words = WORDS * signals.words / self.words
        context = CONTEXT * signals.context / self.context
        words_share = math.log1p(signals.length) / math.log1p(FULL_LENGTH)
        substance = SUBSTANCE * min(1.0, words_share)
        if signals.meaning is None:
            scale = (MEANING + WORDS + CONTEXT) / (WORDS + CONTEXT)
            return Parts(0.0, words * scale, context * scale, substance)
        share = (signals.meaning - self.lowest) / self.span if self.span > 0 else 1.0
        return Parts(MEANING * min(1.0, max(0.0, share)), words, context, substance)


def convex(
    signals: Mapping[str, Signals],
    candidates: Sequence[str],
    *,
    lowest: float,
    highest: float,
) -> dict[str, Parts]:
    """Return the parts of every candidate's score.

    ``signals`` has the candidates and the entries directly beside them; ``lowest`` and
    ``highest`` are the extremes of the centred cosine over everything in scope.
    """
    scales = _Scales(
        lowest,
        highest - lowest,
        max((s.words for s in signals.values()), default=0.0) or 1.0,
        max((s.context for s in signals.values()), default=0.0) or 1.0,
    )
    own = {entry_id: scales.parts(s) for entry_id, s in signals.items()}
    totals = {entry_id: parts.total for entry_id, parts in own.items()}
    beside: dict[str, float] = {}
    best_of_thread: dict[int, float] = {}
    for entry_id in candidates:
        place = signals[entry_id]
        sides = (place.before, place.after)
        beside[entry_id] = NEIGHBOURS * sum(totals.get(s, 0.0) for s in sides if s)
        if place.thread is not None:
            best = max(
                best_of_thread.get(place.thread, 0.0),
                totals[entry_id] + beside[entry_id],
            )
            best_of_thread[place.thread] = best
    scores = {}
    for entry_id in candidates:
        place = signals[entry_id]
        best = totals[entry_id] + beside[entry_id]
        if place.thread is not None:
            best = best_of_thread[place.thread]
        scores[entry_id] = _weighted(own[entry_id], place, beside[entry_id], best)
    return scores


def _weighted(own: Parts, signals: Signals, beside: float, best: float) -> Parts:
    """Return an entry's parts times its importance, as shares of a perfect entry's."""
    factor = _factor(signals.importance)
    return Parts(
        own.meaning * factor,
        own.words * factor,
        own.context * factor,
        own.substance * factor,
        beside * factor,
        CONVERSATION * best * factor,
        PREFERENCE * signals.preference * factor,
    )

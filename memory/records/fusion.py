"""Merge what the words and the vectors say of records into one score.

rrf     Σ over the rankings of 61 / (60 + rank), divided by their number: by words, and
        by cosine where there are vectors
convex  ``memory.rules.convex``, as for journal entries, without importance and
        preferences

Both lie in 0..1. A record is a hit when it has a word of the question or is near to it
in meaning; another one counts for its neighbours only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory.rules import convex
from memory.rules.fusion import Fusion
from memory.word_index.texts import Links, Mask, Places, Scores

RRF: Final = 60
# A smaller cosine is noise: a record without a word in common is then no hit.
MIN_COSINE: Final = 0.1
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Words:
    """What the words of a pool say.

    ``thread`` is the number of each record's conversation, −1 for none; ``holds`` marks
    those that contain the whole question.
    """

    scores: Scores
    links: Links
    thread: Places
    holds: Mask

    @property
    def share(self) -> Values:
        """The share of the question's words, 1 for the whole question."""
        return np.where(self.holds, 1.0, self.scores.share)

    @property
    def weight(self) -> Values:
        """The BM25 of words and pairs of words.

        What holds the whole question and no term of it (another script, a piece of a
        word) weighs as much as the best.
        """
        weight = self.scores.words.astype(np.float64)
        is_piece = self.holds & (self.scores.share == 0)
        return np.where(is_piece, max(float(weight.max(initial=0.0)), 1.0), weight)


@dataclass(frozen=True, slots=True)
class Vectors:
    """The cosines of a pool, plain and centred; NaN for a record without a vector."""

    cosine: Values
    centred: Values


def order(scores: Mapping[int, float]) -> list[int]:
    """Return places, best first; equal scores in the order of places (newest first)."""
    places = np.array(sorted(scores), dtype=np.int64)
    values = np.array([scores[place] for place in places.tolist()])
    ranking: list[int] = places[np.argsort(-values, kind="stable")].tolist()
    return ranking


def fuse(words: Words, vectors: Vectors | None, fusion: Fusion) -> dict[int, float]:
    """Return place → score of every hit."""
    by_words = words.share > 0
    # False for NaN.
    by_meaning = by_words & False if vectors is None else vectors.cosine >= MIN_COSINE
    hits = np.flatnonzero(by_words | by_meaning)
    if fusion is Fusion.CONVEX:
        total = _convex(words, vectors, by_words | by_meaning).total
        return dict(zip(hits.tolist(), total[hits].tolist(), strict=True))
    rankings = [_ranking(words.weight, by_words)]
    if vectors is not None:
        rankings.append(_ranking(vectors.cosine, by_meaning))
    scores: dict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, place in enumerate(ranking, 1):
            scores[place] += (RRF + 1) / (RRF + rank) / len(rankings)
    return scores


def _ranking(values: Values, hits: Mask) -> list[int]:
    places = np.flatnonzero(hits)
    ranking: list[int] = places[np.argsort(-values[places], kind="stable")].tolist()
    return ranking


def _convex(words: Words, vectors: Vectors | None, hits: Mask) -> convex.PartColumns:
    size = len(hits)
    meaning = np.full(size, np.nan) if vectors is None else vectors.centred
    meanings = meaning[~np.isnan(meaning)]
    columns = convex.Columns(
        meaning=meaning,
        words=words.weight,
        context=words.scores.context.astype(np.float64),
        length=words.scores.length.astype(np.float64),
        importance=np.full(size, convex.NO_IMPORTANCE),
        before=words.links.before,
        after=words.links.after,
        thread=words.thread,
        preference=np.zeros(size),
    )
    return convex.parts(
        columns,
        hits,
        lowest=float(meanings.min(initial=1.0)),
        highest=float(meanings.max(initial=-1.0)),
    )

"""Merge the two rankings of records, by words and by meaning, into one score.

rrf     Σ over the rankings of 61 / (60 + rank), divided by their number
convex  ½ · cosine + ½ · words, each scaled to 0..1 over the candidates; a candidate
        of one ranking gets its real score in the other

Both lie in 0..1. Without vectors the words alone decide.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from memory.rules.fusion import Fusion

RRF: Final = 60
COSINE_SHARE: Final = 0.5
# A smaller cosine is noise: a record without a word in common is then no hit.
MIN_COSINE: Final = 0.1


def order(scores: Mapping[int, float]) -> list[int]:
    """Return places, best first; equal scores in the order of places (newest first)."""
    return sorted(sorted(scores), key=scores.__getitem__, reverse=True)


def fuse(
    words: Mapping[int, float], cosines: Mapping[int, float] | None, fusion: Fusion
) -> dict[int, float]:
    """Return place → score of every candidate that a ranking names."""
    strong = {
        place: cosine
        for place, cosine in (cosines or {}).items()
        if cosine >= MIN_COSINE
    }
    if fusion is Fusion.CONVEX and cosines is not None:
        return _convex(words, cosines, {*words, *strong})
    rankings = [order(words)] if cosines is None else [order(words), order(strong)]
    scores: dict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, place in enumerate(ranking, 1):
            scores[place] += (RRF + 1) / (RRF + rank) / len(rankings)
    return scores


def _convex(
    words: Mapping[int, float], cosines: Mapping[int, float], places: set[int]
) -> dict[int, float]:
    best_weight = max(words.values(), default=0.0) or 1.0
    low = min(cosines.values(), default=0.0)
    span = max(cosines.values(), default=0.0) - low
    scaled = {
        place: (cosine - low) / span if span > 0 else 1.0
        for place, cosine in cosines.items()
    }
    return {
        place: COSINE_SHARE * scaled.get(place, 0.0)
        + (1 - COSINE_SHARE) * words.get(place, 0.0) / best_weight
        for place in places
    }

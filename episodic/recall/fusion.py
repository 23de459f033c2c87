"""Fusion of two ranked lists into one.

rrf     score(d) = Σ over rankings of 1 / (60 + rank of d in the ranking), rank from 1
        (Cormack, Clarke and Büttcher 2009, with their k = 60)
convex  score(d) = ½ · dense + ½ · words, each min-max-normalised to 0..1 over the
        candidates; a ranking that did not find d gives 0
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

K: Final = 60
SHARE: Final = 0.5


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


def _normalised(
    scores: Mapping[str, float], lowest: float, highest: float
) -> dict[str, float]:
    span = highest - lowest
    if span <= 0:
        return dict.fromkeys(scores, 1.0)
    return {entry_id: (score - lowest) / span for entry_id, score in scores.items()}


def convex(
    dense: Mapping[str, float],
    words: Mapping[str, float],
    *,
    lowest: float,
    highest: float,
) -> dict[str, float]:
    """Return the fused score of every id from raw scores of both rankings.

    ``lowest`` and ``highest`` are the dense ranking's extremes over all in scope:
    normalising over the cut alone would push its tail to zero. A word score of zero
    is the natural lower end of the word ranking.
    """
    dense_scores = _normalised(dense, lowest, highest)
    word_scores = _normalised(words, 0.0, max(words.values(), default=0.0))
    return {
        entry_id: SHARE * dense_scores.get(entry_id, 0.0)
        + (1 - SHARE) * word_scores.get(entry_id, 0.0)
        for entry_id in {**dense_scores, **word_scores}
    }

"""Fusion of the rankings of a question into one score.

rrf     score(d) = Σ over rankings of 1 / (60 + rank of d in the ranking), rank from 1
        (Cormack, Clarke and Büttcher 2009, with their k = 60)

convex  A weighted sum over the candidates, which any ranking found;
        ``memory.rules.convex`` has it, for records and memory files too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from memory.rules.convex import (
    CONTEXT,
    CONVERSATION,
    CONVEX_VERSION,
    FULL_LENGTH,
    IMPORTANCE,
    MEANING,
    NEIGHBOURS,
    ORDINARY,
    PREFERENCE,
    SUBSTANCE,
    WORDS,
    Parts,
    Signals,
    convex,
    importance_factor,
    most_neighbours,
    weights,
)

__all__ = [
    "CONTEXT",
    "CONVERSATION",
    "CONVEX_VERSION",
    "FULL_LENGTH",
    "IMPORTANCE",
    "MEANING",
    "NEIGHBOURS",
    "ORDINARY",
    "PREFERENCE",
    "SUBSTANCE",
    "WORDS",
    "K",
    "Parts",
    "Signals",
    "convex",
    "importance_factor",
    "most_neighbours",
    "reciprocal",
    "rrf",
    "weights",
]

K: Final = 60


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

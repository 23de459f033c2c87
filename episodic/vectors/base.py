"""The interface of the dense ranking: nearest-neighbour search over embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from episodic.embedders.base import Vectors
from memory.fulltext import WordScope


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorScope(WordScope):
    """The scope of a word search, with the model whose vectors are compared."""

    model: str
    # Entries that belong to no crew, for linking them among themselves.
    only_crewless: bool = False


class VectorHit(NamedTuple):
    """One entry and how near it is. ``score`` is cosine × importance.

    ``centred`` is the cosine as seen from the mean of the workspace's vectors; while
    there are too few of them for a mean, the plain one.
    """

    entry_id: str
    cosine: float
    centred: float
    importance: float
    score: float


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The nearest entries, best first, out of ``considered`` in scope.

    ``lowest`` and ``highest`` are the extremes, over everything in scope, of what the
    hits are ordered by, for normalising over the candidates instead of over the cut.
    One that belongs to no hit may be off by the little that a scan is. Where an index
    answers, which sees only what is near, ``lowest`` is drawn from a sample of the
    workspace (``episodic.vectors.pg.lowest_of``). ``considered`` is always counted.
    """

    hits: list[VectorHit]
    considered: int
    lowest: float = 0.0
    highest: float = 0.0


class VectorIndex(Protocol):
    """An exact or approximate nearest-neighbour search over stored embeddings."""

    name: str

    def search(
        self, query: Vectors, scope: VectorScope, limit: int, *, centred: bool = False
    ) -> SearchResult:
        """Return the best ``limit`` entries; ``query`` is (dim,) and normalised.

        Order is by cosine × importance, or with ``centred`` by the centred cosine
        alone; ties go to the newer entry, then the id.
        """
        ...

    def nearest(
        self, query: Vectors, scope: VectorScope, limit: int, min_cosine: float
    ) -> list[VectorHit]:
        """Return entries by cosine alone, at least ``min_cosine``, best first."""
        ...

    def of(
        self, query: Vectors, scope: VectorScope, entry_ids: list[str]
    ) -> dict[str, VectorHit]:
        """Return the hits of named entries that have a vector of the scope's model."""
        ...

    def cosines(
        self, query: Vectors, scope: VectorScope, entry_ids: list[str]
    ) -> dict[str, float]:
        """Return the cosines alone of many named entries, as ``of`` knows them."""
        ...

    def meanings(
        self, query: Vectors, scope: VectorScope, entry_ids: list[str]
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Return the cosines and the centred ones of many named entries."""
        ...

    def rank(
        self,
        query: Vectors,
        scope: VectorScope,
        entry_id: str,
        *,
        centred: bool = False,
    ) -> int | None:
        """Return the 1-based rank of one entry in scope, None when not in it."""
        ...

"""What the word ranking answers, the same on both databases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from memory.fulltext import WordHit


class WordAnswer(Protocol):
    """The ranking of one question in one scope.

    ``hits`` are the best entries by BM25 of their own words, ``context_hits`` by BM25
    of their windows (an entry and the two before it in its thread), best first, ties by
    newer first and then by id. ``highest`` and ``context_highest`` are the best scores,
    0 without a hit; ``considered`` is how many entries are in scope. Only entries in
    scope count in a window. The weight of a word is that of its rarity among the
    workspace's own entries that may be used and are embedded.
    """

    @property
    def hits(self) -> list[WordHit]: ...
    @property
    def context_hits(self) -> list[WordHit]: ...
    @property
    def highest(self) -> float: ...
    @property
    def context_highest(self) -> float: ...
    @property
    def considered(self) -> int: ...

    def scores(self, entry_ids: Sequence[str]) -> dict[str, tuple[float, float]]:
        """Return own and context score of the named entries that are in scope.

        They are the real ones, also of entries that are no hit; 0 without a word.
        """

    def neighbours(self, entry_ids: Sequence[str]) -> dict[str, list[str]]:
        """Return the entries beside each named one in its thread, the nearest first.

        At most two on each side, those in scope only; all of the named entries that
        are in scope are in the answer.
        """

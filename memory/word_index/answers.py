"""What the word ranking answers, the same on both databases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from memory.fulltext import WordHit


class WordDetail(NamedTuple):
    """What the words of an entry, and of those beside it in its thread, say.

    ``own`` and ``context`` are BM25 of its own words and of its window, 0 without a
    common word; ``pairs`` weighs the pairs of words that stand side by side in the
    question too. ``length`` is how many words it says, 0 for a short question.
    ``before`` and ``after`` are the entries directly beside it, None where there is
    none in scope; ``thread`` is a number that the entries of one trace share, None
    without a trace.
    """

    own: float
    pairs: float
    context: float
    length: int
    before: str | None
    after: str | None
    thread: int | None


class WordAnswer(Protocol):
    """The ranking of one question in one scope.

    ``hits`` are the best entries by BM25 of their own words, ``context_hits`` by BM25
    of their windows (an entry, up to three before it and up to two after it in its
    thread), best first, ties by newer first and then by id. ``considered`` is how many
    entries are in scope. Only entries in scope count in a window. The weight of a word
    is that of its rarity among the workspace's own entries that may be used and are
    embedded.
    """

    @property
    def hits(self) -> list[WordHit]: ...
    @property
    def context_hits(self) -> list[WordHit]: ...
    @property
    def considered(self) -> int: ...

    def details(self, entry_ids: Sequence[str]) -> dict[str, WordDetail]:
        """Return the details of named entries and of those directly beside them.

        Only entries in scope are in the answer, and all of those.
        """

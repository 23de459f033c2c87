"""Literals of which every match contains one, and how a text is searched for them.

A few are searched for one by one, as parts of words; very many are looked up among the
words of the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final, Generic, TypeVar

from gdpr.matching import normalize

# Up to so many literals are searched for one by one.
_MOST_SEARCHED: Final = 48


Entry = TypeVar("Entry")


class Anchors(Generic[Entry]):
    """Entries by the literals that lead to them."""

    def __init__(self) -> None:
        self._words: dict[str, list[Entry]] = {}
        self._stems: dict[str, list[Entry]] | None = {}

    def add(
        self, entry: Entry, words: Iterable[str], stems: Iterable[str] = ()
    ) -> None:
        """Add an entry whose matches have one of ``words`` as a whole word.

        Each match also contains one of ``stems``, by default of the words.
        """
        words = list(words)
        for word in words:
            self._words.setdefault(word, []).append(entry)
        if self._stems is None:
            return
        for stem in stems or words:
            self._add_stem(entry, stem, self._stems)
        if len(self._stems) > _MOST_SEARCHED:
            self._stems = None

    def _add_stem(self, entry: Entry, stem: str, stems: dict[str, list[Entry]]) -> None:
        """Add a stem; one that contains another needs no search of its own."""
        inner = next((other for other in stems if other in stem), None)
        if inner is not None:
            stems[inner].append(entry)
            return
        entries = [entry]
        for outer in [other for other in stems if stem in other]:
            entries += stems.pop(outer)
        stems[stem] = entries

    def inside(self, folded: str) -> list[str]:
        """Return the literals in a folded text."""
        if self._stems is None:
            return list(self._words.keys() & normalize.words_of(folded))
        return [stem for stem in self._stems if stem in folded]

    def entries(self, folded: str) -> Sequence[Entry]:
        """Return the entries whose literals are in a folded text, each once."""
        literals = self.inside(folded)
        if not literals:
            return ()
        lists = self._words if self._stems is None else self._stems
        return list(
            dict.fromkeys(chain.from_iterable(map(lists.__getitem__, literals)))
        )

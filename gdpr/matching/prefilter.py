"""Finding the few texts that may name somebody among very many that do not.

They are folded and searched together. What costs is done only for those in which a
word of a name, a number or an escape stands.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Final

from gdpr.matching import normalize

# Stands between two texts: no letter, part of no name, and folding leaves it.
_END: Final = "\x00"
_ESCAPES: Final = "\\%&"

# Says where a folded text is worth a look, and whether one names somebody.
Hints = Callable[[str], Iterable[int]]
Hits = Callable[[str], bool]
ReadFields = Callable[[str], str | None]


def among(
    texts: Sequence[str], read_fields: ReadFields, hints: Hints, hits: Hits
) -> list[int]:
    """Return the places of the texts that may name somebody in any of their readings.

    ``told`` gives what a text says to a reader, made of its words and no others; None
    when that cannot be known, and then it is worth a look.
    """
    folded = _Row(_folded(texts))
    candidates = {folded.text_index(place) for place in hints(folded.body)}
    candidates |= _Row(texts).holding(_ESCAPES)
    return sorted(at for at in candidates if _names(read_fields(texts[at]), hits))


def _names(text: str | None, hits: Hits) -> bool:
    if text is None or hits(normalize.fold(text)):
        return True
    return any(map(hits, normalize.readings(text)))


def _folded(texts: Sequence[str]) -> Sequence[str]:
    """Return each text folded: in one go, unless a text holds what stands between."""
    folded = normalize.fold(_END.join(texts)).split(_END)
    if len(folded) != len(texts):
        folded = [normalize.fold(text) for text in texts]
    return folded


class _Row:
    """Texts that stand in a row, one sign apart."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.body = _END.join(texts)
        # Where the next text begins, one after the other.
        self._next = list(accumulate(len(text) + 1 for text in texts))

    def text_index(self, place: int) -> int:
        """Return which text stands at a place of the whole."""
        return bisect_right(self._next, place)

    def holding(self, signs: str) -> set[int]:
        """Return which texts hold one of some signs."""
        indexes = set()
        for sign in signs:
            at = self.body.find(sign)
            while at >= 0:
                text = self.text_index(at)
                indexes.add(text)
                at = self.body.find(sign, self._next[text])
        return indexes

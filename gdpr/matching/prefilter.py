"""Finding the few texts that may name somebody among very many that do not.

The texts are folded and searched together. Only those that contain a word of a name, a
number, an escape or what may be encoded are matched one by one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Final

from gdpr.matching import encodings, line_breaks, normalize, transliteration

# Separates two texts: not a letter, in no name, unchanged by folding.
_END: Final = "\x00"
_ESCAPES: Final = "\\%&"
# These are in no encoded token.
_BOUNDS: Final = ' "'

# Offsets in a folded text at which it may name somebody; whether a text does.
Hints = Callable[[str], Iterable[int]]
Hits = Callable[[str], bool]
ReadFields = Callable[[str], str | None]


def among(
    texts: Sequence[str],
    read_fields: ReadFields,
    hints: Hints,
    hits: Hits,
) -> list[int]:
    """Return the indexes of the texts that may name somebody in any of their readings.

    ``read_fields`` returns a text as it is searched, made of its words and no others,
    or None when that is unknown; such a text is returned.
    """
    folded, joined_texts = _JoinedTexts(_folded(texts)), _JoinedTexts(texts)
    escaped = joined_texts.containing(_ESCAPES)
    escaped |= {
        joined_texts.text_index(at) for at in normalize.quoted_places(joined_texts.body)
    }
    candidates = {folded.text_index(place) for place in hints(folded.body)}
    candidates |= joined_texts.containing(line_breaks.PLAIN_SIGNS)
    if not joined_texts.body.isascii():
        candidates |= joined_texts.containing(line_breaks.SPECIAL_SIGNS)
    if transliteration.is_foreign(joined_texts.body):
        latin = _JoinedTexts([transliteration.latin(text) for text in texts])
        candidates |= {latin.text_index(place) for place in hints(latin.body)}
    names = {
        at
        for at in candidates | escaped
        if _names(read_fields(texts[at]), hits, encodings.MAX_DEPTH * (at in escaped))
    }
    return sorted(names | _encoded(joined_texts, hits, names | escaped))


def _encoded(joined: _JoinedTexts, hits: Hits, covered: set[int]) -> set[int]:
    """Return the indexes of other texts in which an encoded token names somebody.

    Hashes and ids are decoded by chance: only the words around such a place are read.
    """
    indexes: set[int] = set()
    answers: dict[str, bool] = {}
    end = 0
    places = [(place, place + 1) for place in encodings.suspects(joined.body)]
    places += encodings.unbroken(joined.body)
    for place, last in sorted(places):
        at = joined.text_index(place)
        if last <= end or at in covered or at in indexes:
            continue
        word, end = joined.word_at(place, last)
        if word not in answers:
            answers[word] = any(map(hits, normalize.readings(word)))
        if answers[word]:
            indexes.add(at)
    return indexes


def _names(text: str | None, hits: Hits, depth: int) -> bool:
    if text is None or hits(normalize.fold(text)):
        return True
    if any(map(hits, normalize.readings(text, depth))):
        return True
    if line_breaks.parts(text) and hits(normalize.fold(line_breaks.joined(text))):
        return True
    return transliteration.is_foreign(text) and hits(transliteration.latin(text))


def _folded(texts: Sequence[str]) -> Sequence[str]:
    """Return each text folded: all at once, unless a text contains the separator."""
    folded = normalize.fold(_END.join(texts)).split(_END)
    if len(folded) != len(texts):
        folded = [normalize.fold(text) for text in texts]
    return folded


class _JoinedTexts:
    """Texts joined by a separator."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.body = _END.join(texts)
        # The offset at which the text after each begins.
        self._next = list(accumulate(len(text) + 1 for text in texts))

    def text_index(self, place: int) -> int:
        """Return the index of the text at an offset."""
        return bisect_right(self._next, place)

    def word_at(self, place: int, last: int) -> tuple[str, int]:
        """Return the text between spaces and quotes around a range, and its end."""
        at = self.text_index(place)
        end = self._next[at] - 1
        start = end - len(self.texts[at])
        first = max(self.body.rfind(sign, start, place) for sign in _BOUNDS)
        after = [self.body.find(sign, last - 1, end) for sign in _BOUNDS]
        end = min((at for at in after if at >= 0), default=end)
        return self.body[max(first + 1, start) : end], end

    def containing(self, signs: Iterable[str]) -> set[int]:
        """Return the indexes of the texts that contain one of some signs."""
        indexes = set()
        for sign in signs:
            at = self.body.find(sign)
            while at >= 0:
                text = self.text_index(at)
                indexes.add(text)
                at = self.body.find(sign, self._next[text])
        return indexes

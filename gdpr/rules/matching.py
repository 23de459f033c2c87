"""Finding people in text: word-bounded, without case and accents, in any script.

Most texts name nobody. A text is folded (for ASCII that is ``lower``), and only when a
word of some alias is in it, the alias's own expression runs over it; only when that
finds something are places in the original worked out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gdpr.rules import fields, folding, phones, shapes, sifting
from gdpr.rules.folding import View

# Up to so many anchors each is searched; beyond, the words of the text are looked up.
_FEW: Final = 24
_ROUNDS: Final = 8
# Stands in where the mark itself would name somebody: no letter is in it.
BLANK: Final = "[…]"


@dataclass(frozen=True, slots=True)
class Name:
    """One alias as the matcher sees it: whose, of which kind, and its text."""

    subject_id: str
    kind: str
    value: str


@dataclass(frozen=True, slots=True)
class Span:
    """Where a text names somebody: character offsets of the original, end exclusive."""

    start: int
    end: int
    subject_id: str
    kind: str


# A name with its number among the names, so that each is tried once.
_Entry = tuple[int, Name]


class Matcher:
    """Finds a set of names in texts. Building one costs, asking is cheap."""

    def __init__(self, names: Sequence[Name]) -> None:
        self.names_known = tuple(names)
        self._words: dict[str, list[_Entry]] = {}
        self._pieces: dict[str, list[_Entry]] = {}
        self._numbers: dict[str, list[tuple[phones.Number, Name]]] = {}
        self._shapes: dict[int, shapes.Shape] = {}
        self._trails: list[re.Pattern[str]] = []
        for number, name in enumerate(self.names_known):
            if name.kind == "phone":
                line = phones.alias(name.value)
                if len(line.digits) >= phones.LEAST:
                    self._number(line, name)
            else:
                self._index(number, name)

    def _index(self, number: int, name: Name) -> None:
        shape = shapes.shape(name.kind, name.value)
        if shape is not None:
            self._shapes[number] = shape
            index = self._words if shape.whole else self._pieces
            index.setdefault(shape.anchor, []).append((number, name))

    def _number(self, line: phones.Number, name: Name) -> None:
        if line.tail not in self._numbers:
            self._trails.append(phones.trail(line.tail))
        self._numbers.setdefault(line.tail, []).append((line, name))

    def _possible(self, folded: str) -> Iterator[_Entry]:
        """Return the names one of whose words is in a folded text."""
        if len(self._words) <= _FEW:
            found: Iterable[str] = [word for word in self._words if word in folded]
        else:
            found = self._words.keys() & folding.words_of(folded)
        for word in found:
            yield from self._words[word]
        for piece, entries in self._pieces.items():
            if piece in folded:
                yield from entries

    def _hits(self, folded: str) -> Iterator[tuple[int, int, Name]]:
        """Return where a folded text names somebody, in its own offsets."""
        for number, name in self._possible(folded):
            shape = self._shapes[number]
            if not all(word in folded for word in shape.others):
                continue
            for hit in shape.pattern.finditer(folded):
                yield hit.start(), hit.end(), name
        if self._numbers:
            for start, end, line in phones.candidates(folded):
                for known, name in self._numbers.get(line.tail, ()):
                    if known.same(line):
                        yield start, end, name

    def _in_view(self, view: View) -> Iterator[Span]:
        for start, end, name in self._hits(view.text):
            place = view.original(start, end)
            if place is not None:
                yield Span(place[0], place[1], name.subject_id, name.kind)

    def _all(self, text: str) -> Iterator[Span]:
        if self._hit(folding.fold(text)):
            yield from self._in_view(folding.plain_view(text))
        for view in folding.escaped_views(text):
            yield from self._in_view(view)

    def may(self, text: str) -> bool:
        """Whether it is worth asking whom a text names; False is certain.

        Most texts are plain, hold no escape and no word of any name: that is told in a
        fraction of the time. What is not plain is worth asking.
        """
        if not text.isascii() or "\\" in text or "%" in text or "&" in text:
            return True
        folded = text.lower()
        if self._numbers and phones.may(folded):
            return True
        if len(self._words) > _FEW:
            if not self._words.keys().isdisjoint(folding.words_of(folded)):
                return True
        elif any(word in folded for word in self._words):
            return True
        return any(piece in folded for piece in self._pieces)

    def _hints(self, folded: str) -> Iterator[int]:
        """Return where a folded text is worth a look: at words of names and digits."""
        words: Iterable[str] = self._words
        if len(self._words) > _FEW:
            words = self._words.keys() & folding.words_of(folded)
        for anchor in (*words, *self._pieces):
            at = folded.find(anchor)
            while at >= 0:
                yield at
                at = folded.find(anchor, at + 1)
        for trail in self._trails:
            yield from (found.start() for found in trail.finditer(folded))

    def _hit(self, folded: str) -> bool:
        return any(True for _ in self._hits(folded))

    def among(self, texts: Sequence[str], told: sifting.Told) -> Sequence[int]:
        """Return the places of the texts of which it is worth asking whom they name.

        Of all others it is certain that they name nobody, whichever way they are
        ``told``. It takes a fraction of asking for each.
        """
        return sifting.among(texts, told, self._hints, self._hit)

    def spans(self, text: str) -> list[Span]:
        """Return where a text names somebody, left to right, longest first.

        Spans of two people may overlap; of one person the longest is told.
        """
        if not text or not self.names_known:
            return []
        found = sorted(
            set(self._all(text)), key=lambda s: (s.start, -s.end, s.subject_id, s.kind)
        )
        kept: list[Span] = []
        reach: dict[str, int] = {}
        for span in found:
            if span.end > reach.get(span.subject_id, -1):
                reach[span.subject_id] = span.end
                kept.append(span)
        return kept

    def names(self, text: str) -> frozenset[str]:
        """Return the ids of the subjects that a text names."""
        return frozenset(span.subject_id for span in self.spans(text))

    def mask(self, text: str, mark: str = "[erased]") -> str:
        """Return a text with every name replaced; nothing is found in it afterwards."""
        spans = self.spans(text)
        if not spans:
            return text
        if self.spans(mark):
            mark = BLANK
        for _ in range(_ROUNDS):
            text = _replaced(text, spans, mark)
            # What stood between two letters may stand free beside a mark.
            spans = self.spans(text)
            if not spans:
                return text
        return mark

    def mask_json(self, value: Any, mark: str = "[erased]") -> Any:
        """Return a JSON value with every name in any string or key replaced.

        A number that is somebody's id or telephone number becomes the mark.
        """
        if isinstance(value, str):
            return self.mask(value, mark)
        if isinstance(value, dict):
            return self._mask_object(value, mark)
        if isinstance(value, (list, tuple)):
            return [self.mask_json(item, mark) for item in value]
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return mark if self.spans(str(value)) else value
        return value

    def _mask_object(self, value: dict[Any, Any], mark: str) -> dict[str, Any]:
        masked: dict[str, Any] = {}
        halves = self._halves(value)
        for key, item in value.items():
            base = name = self.mask(str(key), mark)
            again = 2
            while name in masked or (name != key and name in value):
                name, again = f"{base} {again}", again + 1
            masked[name] = self.mask_json(mark if key in halves else item, mark)
        return masked

    def _halves(self, value: dict[Any, Any]) -> set[Any]:
        """Return the keys of fields that name somebody only together."""
        return {
            key
            for one, two in fields.pairs(value)
            if self.is_split(value[one], value[two])
            or self.is_split(value[two], value[one])
            for key in (one, two)
        }

    def is_split(self, first: str, second: str) -> bool:
        """Whether a name begins in one text and ends in the next."""
        text = f"{first} {second}"
        edge = len(first)
        return self.may(text) and any(
            span.start < edge < span.end for span in self.spans(text)
        )


def _replaced(text: str, spans: Sequence[Span], mark: str) -> str:
    """Return a text with spans replaced, those that overlap as one."""
    pieces: list[str] = []
    at = 0
    start, end = spans[0].start, spans[0].end
    for span in [*spans[1:], None]:
        if span is not None and span.start < end:
            end = max(end, span.end)
            continue
        pieces += [text[at:start], mark]
        at = end
        if span is not None:
            start, end = span.start, span.end
    pieces.append(text[at:])
    return "".join(pieces)

"""Finding people in text: word-bounded, without case and accents, in any script.

Most texts name nobody. A text is folded (for ASCII that is ``lower``). The regular
expression of an alias runs only when a word of the alias is in the folded text, and
offsets in the original are computed only when it matches.

Not every alias is looked for in free text (``common_words``): an ordinary word, a short
one and a number count only as the whole value of a field that holds a person. A match
of a single word is unsure and a person decides on it; every other match is sure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from functools import cached_property
from typing import Final

from gdpr.matching import (
    encodings,
    name_fields,
    normalize,
    patterns,
    phones,
    prefilter,
    word_context,
)
from gdpr.matching.common_words import Reach, reach
from gdpr.matching.masking import BLANK, Masker, Name, Span
from gdpr.matching.name_fields import Key
from gdpr.matching.normalize import View

# Up to so many anchors are searched one by one; more are looked up by the text's words.
_MAX_SEARCHED_ANCHORS: Final = 24


class Sign(IntEnum):
    """How surely a text is about somebody."""

    NONE = 0
    UNSURE = 1
    SURE = 2


__all__ = ["BLANK", "Matcher", "Name", "Sign", "Span"]

# A name with its index among the names.
_Entry = tuple[int, Name]
# Start and end in a folded text, the name, and whether the match is sure.
_Hit = tuple[int, int, Name, bool]


class Matcher(Masker):
    """Finds a set of names in texts. Expensive to build, cheap to use.

    ``shared_names`` are names, in their comparable form, that other people have too.
    """

    def __init__(
        self, names: Sequence[Name], shared_names: frozenset[str] = frozenset()
    ) -> None:
        self.names_known = tuple(names)
        self._shared_names = shared_names
        self._words: dict[str, list[_Entry]] = {}
        self._pieces: dict[str, list[_Entry]] = {}
        self._numbers: dict[str, list[tuple[phones.Number, Name]]] = {}
        self._shapes: dict[int, patterns.Shape] = {}
        self._tail_patterns: list[re.Pattern[str]] = []
        # For fields that hold a person: kind → comparable form → names.
        self._by_field_value: dict[str, dict[str, list[Name]]] = {}
        self._unsure: set[int] = set()
        self._sure_part: Matcher | None = None
        self._redaction_matcher: Matcher | None = None
        self._field_only_forms: list[str] = []
        self._redaction_spellings: list[tuple[re.Pattern[str], Name]] = []
        for number, name in enumerate(self.names_known):
            if name.kind == "phone":
                line = phones.alias(name.value)
                if len(line.digits) >= phones.MIN_DIGITS:
                    self._number(line, name)
            else:
                self._index(number, name)

    def _index(self, number: int, name: Name) -> None:
        form = patterns.folded(name.kind, name.value)
        self._by_field_value.setdefault(name.kind, {}).setdefault(form, []).append(name)
        reach_of_name = reach(name.kind, name.value)
        if reach_of_name is Reach.FIELDS:
            self._field_only_forms.append(form)
        if reach_of_name is not Reach.TEXT or self._is_shared_name(name.kind, form):
            self._unsure.add(number)
        shape = patterns.shape(
            name.kind, name.value, addressed=reach_of_name is Reach.FIELDS
        )
        if shape is not None:
            self._shapes[number] = shape
            index = self._words if shape.is_word else self._pieces
            index.setdefault(shape.anchor, []).append((number, name))

    def _is_shared_name(self, kind: str, form: str) -> bool:
        return kind == "name" and form in self._shared_names

    def for_redaction(self) -> Matcher:
        """Return the matcher that masks rows known to be about these people.

        In such rows an ordinary word written like a name is the name, and a number
        after "user" is the user's id.
        """
        if not self._field_only_forms:
            return self
        if self._redaction_matcher is None:
            self._redaction_matcher = Matcher(self.names_known, self._shared_names)
            self._redaction_matcher._redaction_spellings = [
                (look, name)
                for name in self.names_known
                if reach(name.kind, name.value) is Reach.FIELDS
                for look in word_context.spellings(name.kind, name.value)
            ]
        return self._redaction_matcher

    def _number(self, line: phones.Number, name: Name) -> None:
        if line.tail not in self._numbers:
            self._tail_patterns.append(phones.tail_pattern(line.tail))
        self._numbers.setdefault(line.tail, []).append((line, name))

    def _words_in(self, folded: str) -> Iterable[str]:
        """Return the words of names in a folded text, perhaps as part of others."""
        if len(self._words) > _MAX_SEARCHED_ANCHORS:
            return self._words.keys() & normalize.words_of(folded)
        return (word for word in self._words if word in folded)

    def _possible(self, folded: str) -> Iterator[_Entry]:
        """Return the names that have a word in a folded text."""
        for word in self._words_in(folded):
            yield from self._words[word]
        for piece, entries in self._pieces.items():
            if piece in folded:
                yield from entries

    def _hits(self, folded: str) -> Iterator[_Hit]:
        """Return the matches in a folded text, with offsets in that text."""
        for number, name in self._possible(folded):
            shape = self._shapes[number]
            if not all(word in folded for word in shape.other_words):
                continue
            for hit in shape.pattern.finditer(folded):
                sure = number not in self._unsure or self._is_addressed(name, hit[0])
                yield hit.start(), hit.end(), name, sure
        if self._numbers:
            yield from self._in_numbers(folded)
        if name_fields.BEGIN in folded:
            yield from self._in_lines(folded)

    def _in_numbers(self, folded: str) -> Iterator[_Hit]:
        for start, end, line in phones.candidates(folded):
            for alias_number, name in self._numbers.get(line.tail, ()):
                if alias_number.is_same_line(line):
                    yield start, end, name, True

    def _is_addressed(self, name: Name, hit: str) -> bool:
        """Whether a handle follows an @ and is no ordinary word."""
        is_word = reach(name.kind, name.value) is Reach.FIELDS
        return name.kind == "handle" and hit.startswith("@") and not is_word

    def _in_lines(self, folded: str) -> Iterator[_Hit]:
        """Return the matches in field lines (``name_fields.line``)."""
        for match in name_fields.FIELD_LINE.finditer(folded):
            for name, sure in self.named_by(Key(match[1]), match[2]):
                yield match.start(2), match.end(2), name, sure

    def named_by(self, key: Key, value: str) -> Iterator[tuple[Name, bool]]:
        """Return the names that a whole value of a field means, and whether surely."""
        if key is not Key.UNSURE and self._numbers:
            line = phones.alias(value)
            for alias_number, name in self._numbers.get(line.tail, ()):
                if alias_number.is_same_line(line):
                    yield name, True
        if key is Key.PHONE or (key is Key.UNSURE and value.isdigit()):
            return
        for kind, forms in self._by_field_value.items():
            form = patterns.folded(kind, value)
            bare = form.lstrip("@")
            for name in forms.get(form) or forms.get(bare) or ():
                is_sure = key is Key.PERSON and not self._is_shared_name(kind, form)
                yield name, is_sure

    def sign_of_value(self, value: object) -> Sign:
        """Return how surely a value of such a field means them, whole or in part."""
        return self.sign(f"{value}\n{name_fields.line(Key.PERSON, value)}")

    def _in_view(self, view: View) -> Iterator[Span]:
        for start, end, name, sure in self._hits(view.text):
            place = view.original(start, end) if end > start else None
            if place is not None:
                yield Span(place[0], place[1], name.subject_id, name.kind, sure)

    def _all(self, text: str) -> Iterator[Span]:
        if self._hit(normalize.fold(text)):
            yield from self._in_view(normalize.plain_view(text))
        for view in normalize.escaped_views(text):
            yield from self._in_view(view)
        for look, name in self._redaction_spellings:
            for hit in look.finditer(text):
                yield Span(hit.start(1), hit.end(1), name.subject_id, name.kind)

    def may(self, text: str) -> bool:
        """Whether a text may name somebody; False is certain.

        Most texts are ASCII without escapes and hold no word of any name: that is
        decided in a fraction of the time. For any other text the answer is True.
        """
        if not text.isascii() or "\\" in text or "%" in text or "&" in text:
            return True
        if normalize.is_encoded(text):
            return True
        if (self._by_field_value or self._numbers) and name_fields.may_hold_person(
            text
        ):
            return True
        folded = text.lower()
        if self._numbers and phones.may_hold_number(folded):
            return True
        if any(True for _ in self._words_in(folded)):
            return True
        return any(piece in folded for piece in self._pieces)

    @cached_property
    def _encoded_literals(self) -> tuple[str, ...]:
        """Encodings of names to search for: ``encodings.suspects`` misses these."""
        values = {name.value for name in self.names_known if name.kind != "pattern"}
        return tuple(text for value in values for text in encodings.literals(value))

    def _hints(self, folded: str) -> Iterator[int]:
        """Return the offsets in a folded text of words of names and of digits."""
        forms = self._field_only_forms
        spellings = (
            text for form in forms for text in name_fields.json_spellings(form)
        )
        for anchor in (*self._words_in(folded), *self._pieces, *spellings):
            at = folded.find(anchor)
            while at >= 0:
                yield at
                at = folded.find(anchor, at + 1)
        for trail in self._tail_patterns:
            yield from (match.start() for match in trail.finditer(folded))

    def _hit(self, folded: str) -> bool:
        return any(True for _ in self._hits(folded))

    def among(
        self, texts: Sequence[str], read_fields: prefilter.ReadFields
    ) -> Sequence[int]:
        """Return the indexes of the texts that may name somebody; the others do not.

        ``read_fields`` returns a text with its JSON fields as text. Much faster than
        matching each text.
        """
        return prefilter.among(
            texts, read_fields, self._hints, self._hit, self._encoded_literals
        )

    def spans(self, text: str) -> list[Span]:
        """Return where a text names somebody, left to right, longest first.

        Spans of two people may overlap; of one person only the longest is returned.
        """
        if not text or not self.names_known:
            return []
        spans = sorted(
            set(self._all(text)),
            key=lambda s: (s.start, -s.end, s.subject_id, not s.sure, s.kind),
        )
        longest: list[Span] = []
        reach: dict[str, int] = {}
        for span in spans:
            if span.end > reach.get(span.subject_id, -1):
                reach[span.subject_id] = span.end
                longest.append(span)
        return longest

    def names(self, text: str) -> frozenset[str]:
        """Return the ids of the subjects that a text names."""
        return frozenset(span.subject_id for span in self.spans(text))

    def sure(self, text: str) -> frozenset[str]:
        """Return the ids of the subjects that a text surely names."""
        if not text or not self.names_known:
            return frozenset()
        return frozenset(span.subject_id for span in self._all(text) if span.sure)

    def sign(self, text: str) -> Sign:
        """Return how surely a text is about one of them."""
        best = Sign.NONE
        for span in self._all(text) if text and self.names_known else ():
            if span.sure:
                return Sign.SURE
            best = Sign.UNSURE
        return best

    def judge(self, text: str, *, linked: bool) -> Sign:
        """Return how surely a row is about them; a row that is linked is sure."""
        return Sign.SURE if linked else self.sign(text)

    @property
    def searched(self) -> tuple[Name, ...]:
        """The names that are looked for in free text; the others count in fields only.

        A handle that is an ordinary word is looked for behind an @ and is not among
        them.
        """
        names = self.names_known
        return tuple(n for n in names if reach(n.kind, n.value) is not Reach.FIELDS)

    @property
    def former_name_sign(self) -> Sign:
        """How surely a row is about them that only a former name of theirs matched."""
        return Sign.UNSURE

    def only_sure(self) -> Matcher:
        """Return a matcher of the names that are sure in any text."""
        if self._sure_part is None:
            entries = enumerate(self.names_known)
            names = [name for number, name in entries if number not in self._unsure]
            self._sure_part = Matcher(names)
        return self._sure_part

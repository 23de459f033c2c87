"""Finding people in text: word-bounded, without case and accents, in any script.

Most texts name nobody. A text is folded (for ASCII that is ``lower``). The regular
expression of an alias runs only when a word of the alias is in the folded text, and
offsets in the original are computed only when it matches.

Not every alias is looked for in free text (``common_words``): an ordinary word, a short
one and a number count only as the whole value of a field that holds a person. A match
of a single word is unsure and a person decides on it. So is a form of a name that may
be somebody else's (``name_forms``); every other match is sure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from gdpr.matching import (
    line_breaks,
    name_fields,
    name_words,
    normalize,
    patterns,
    phones,
    prefilter,
    transliteration,
    word_context,
)
from gdpr.matching.anchors import Anchors
from gdpr.matching.common_words import Reach, reach
from gdpr.matching.masking import BLANK, Masker, Name, Sign, Span, longest
from gdpr.matching.name_fields import Key
from gdpr.matching.name_forms import FullName
from gdpr.matching.normalize import View
from gdpr.matching.number_index import NumberIndex

__all__ = ["BLANK", "Matcher", "Name", "Sign", "Span"]

# A name with its index among the names.
_Entry = tuple[int, Name]
# Start and end in a folded text, the name, whether the match is sure, and its form.
_Hit = tuple[int, int, Name, bool, str]
_PLAIN = "as_registered"


class Matcher(Masker):
    """Finds a set of names in texts. Expensive to build, cheap to use.

    ``shared_names`` are names, in their comparable form, that other people have too.
    With ``proposals``, forms of a name that may be somebody else's are found as well;
    they are unsure.
    """

    def __init__(
        self,
        names: Sequence[Name],
        shared_names: frozenset[str] = frozenset(),
        *,
        proposals: bool = False,
    ) -> None:
        self.names_known = tuple(names)
        self._shared_names = shared_names
        self._proposals = proposals
        self._words: Anchors[_Entry] = Anchors()
        self._full_names: dict[int, FullName] = {}
        self._pieces: dict[str, list[_Entry]] = {}
        self._numbers = NumberIndex()
        self._shapes: dict[int, patterns.Shape] = {}
        # For fields that hold a person: kind → comparable form → names.
        self._by_field_value: dict[str, dict[str, list[Name]]] = {}
        self._unsure: set[int] = set()
        self._sure_part: Matcher | None = None
        self._redaction_matcher: Matcher | None = None
        self._field_only_forms: list[str] = []
        self._redaction_spellings: list[tuple[re.Pattern[str], Name]] = []
        for number, name in enumerate(self.names_known):
            if name.kind == "phone":
                self._numbers.add(name)
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
            if shape.is_word:
                self._words.add((number, name), [shape.anchor])
            else:
                self._pieces.setdefault(shape.anchor, []).append((number, name))
        if name.kind == "name" and reach_of_name is not Reach.FIELDS:
            self._index_forms(number, name, form)

    def _index_forms(self, number: int, name: Name, form: str) -> None:
        """Index the further forms of a name, unless all its words are ordinary."""
        parts = name_words.parts(name.value)
        is_phrase = " " in form and number in self._unsure
        if parts is None or (is_phrase and not self._is_shared_name("name", form)):
            return
        if not parts.first and not self._proposals:
            return
        full_name = FullName(parts, proposals=self._proposals)
        self._full_names[number] = full_name
        self._words.add((number, name), full_name.anchors, full_name.stems)

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
            self._redaction_matcher = Matcher(
                self.names_known, self._shared_names, proposals=self._proposals
            )
            spellings = word_context.of_common(self.names_known)
            self._redaction_matcher._redaction_spellings = list(spellings)
        return self._redaction_matcher

    def _possible(self, folded: str) -> list[_Entry]:
        """Return the names that have a word in a folded text, each once."""
        entries = list(self._words.entries(folded))
        for piece, piece_entries in self._pieces.items():
            if piece in folded:
                entries += piece_entries
        return entries

    def _hits(self, folded: str, entries: Sequence[_Entry]) -> Iterator[_Hit]:
        """Return the matches as registered in a folded text, with offsets there.

        ``entries`` are the possible names.
        """
        for number, name in entries:
            shape = self._shapes.get(number)
            if shape is None or not all(word in folded for word in shape.other_words):
                continue
            for hit in shape.pattern.finditer(folded):
                sure = number not in self._unsure or self._is_addressed(name, hit[0])
                yield hit.start(), hit.end(), name, sure, _PLAIN
        for start, end, name in self._numbers.inside(folded):
            yield start, end, name, True, _PLAIN
        if name_fields.BEGIN in folded:
            yield from self._in_lines(folded)

    def _form_hits(self, view: View, entries: Sequence[_Entry]) -> Iterator[_Hit]:
        """Return the further forms of names in a view of a text."""
        for number, name in entries:
            full_name = self._full_names.get(number)
            for hit in full_name.hits(view) if full_name else ():
                sure = hit.sure and number not in self._unsure
                yield hit.start, hit.end, name, sure, hit.code

    def _is_addressed(self, name: Name, hit: str) -> bool:
        """Whether a handle follows an @ and is no ordinary word."""
        is_word = reach(name.kind, name.value) is Reach.FIELDS
        return name.kind == "handle" and hit.startswith("@") and not is_word

    def _in_lines(self, folded: str) -> Iterator[_Hit]:
        """Return the matches in field lines (``name_fields.line``)."""
        for match in name_fields.FIELD_LINE.finditer(folded):
            for name, sure in self.named_by(Key(match[1]), match[2]):
                yield match.start(2), match.end(2), name, sure, _PLAIN
            for name in self._surname_of(match[2]):
                yield match.start(2), match.end(2), name, False, "surname"

    def named_by(self, key: Key, value: str) -> Iterator[tuple[Name, bool]]:
        """Return the names that a whole value of a field means, and whether surely."""
        if key is not Key.UNSURE and self._numbers:
            for name in self._numbers.of_line(phones.alias(value)):
                yield name, True
        if key is Key.PHONE or (key is Key.UNSURE and value.isdigit()):
            return
        for kind, forms in self._by_field_value.items():
            form = patterns.folded(kind, value)
            bare = form.lstrip("@")
            for name in forms.get(form) or forms.get(bare) or ():
                is_sure = key is Key.PERSON and not self._is_shared_name(kind, form)
                yield name, is_sure

    def _surname_of(self, value: str) -> Iterator[Name]:
        """Return the names whose surname is a whole value."""
        for number, full_name in self._full_names.items() if self._proposals else ():
            if full_name.means(value):
                yield self.names_known[number]

    def sign_of_value(self, value: object) -> Sign:
        """Return how surely a value of such a field means them, whole or in part."""
        return self.sign(f"{value}\n{name_fields.line(Key.PERSON, value)}")

    def _in_view(self, view: View, form: str = "") -> Iterator[Span]:
        """Return the matches in a view; ``form`` replaces those that are sure."""
        entries = self._possible(view.text)
        hits = chain(self._hits(view.text, entries), self._form_hits(view, entries))
        for start, end, name, sure, code in hits:
            place = view.original(start, end) if end > start else None
            if place is not None:
                code = form if form and sure else code
                yield Span(*place, name.subject_id, name.kind, sure, code)

    def _all(self, text: str) -> Iterator[Span]:
        if self._hit(normalize.fold(text)):
            yield from self._in_view(normalize.plain_view(text))
        for view in normalize.escaped_views(text):
            yield from self._in_view(view)
        if self._full_names:
            yield from self._in_written_views(text)
        for look, name in self._redaction_spellings:
            for hit in look.finditer(text):
                yield Span(hit.start(1), hit.end(1), name.subject_id, name.kind)

    def _in_written_views(self, text: str) -> Iterator[Span]:
        """Return the matches in further ways to read a text's letters."""
        if line_breaks.parts(text):
            yield from self._in_view(normalize.mended_view(text), "line_break")
        if transliteration.is_foreign(text):
            yield from self._in_view(transliteration.latin_view(text), "other_letters")

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
        if self._words.inside(folded):
            return True
        if self._full_names and line_breaks.parts(text):
            return True
        return any(piece in folded for piece in self._pieces)

    def _hints(self, folded: str) -> Iterator[int]:
        """Return the offsets in a folded text of words of names and of digits."""
        spellings = chain(*map(name_fields.json_spellings, self._field_only_forms))
        for anchor in (*self._words.inside(folded), *self._pieces, *spellings):
            at = folded.find(anchor)
            while at >= 0:
                yield at
                at = folded.find(anchor, at + 1)
        for trail in self._numbers.tail_patterns:
            yield from (match.start() for match in trail.finditer(folded))

    def _hit(self, folded: str) -> bool:
        """Whether a folded text may name somebody; False is certain."""
        entries = self._possible(folded)
        if any(True for _ in self._hits(folded, entries)):
            return True
        names = (self._full_names.get(number) for number, _ in entries)
        return any(name is not None and name.may(folded) for name in names)

    def among(
        self, texts: Sequence[str], read_fields: prefilter.ReadFields
    ) -> Sequence[int]:
        """Return the indexes of the texts that may name somebody; the others do not.

        ``read_fields`` returns a text with its JSON fields as text. Much faster than
        matching each text.
        """
        return prefilter.among(texts, read_fields, self._hints, self._hit)

    def spans(self, text: str) -> list[Span]:
        """Return where a text names somebody, left to right, longest first.

        Spans of two people may overlap; of one person only the longest is returned.
        """
        if not text or not self.names_known:
            return []
        return longest(self._all(text))

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

    def form(self, text: str) -> str:
        """Return the form of the first match in a text; empty without one."""
        spans = self.spans(text)
        return spans[0].form if spans else ""

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

    # How surely a row is about them that only a former name of theirs matched.
    former_name_sign = Sign.UNSURE

    def only_sure(self) -> Matcher:
        """Return a matcher of the names that are sure in any text."""
        if self._sure_part is None:
            entries = enumerate(self.names_known)
            names = [name for number, name in entries if number not in self._unsure]
            self._sure_part = Matcher(names)
        return self._sure_part

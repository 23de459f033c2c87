"""Which concepts the words of a sentence stand for, in each language of the word lists.

An attack is an act (drop the rules, name a secret, send something out) with its object
and its addressee. The lists in languages/ say how each language puts these; rules
combine them, see combinations.py. Words are compared folded, so accents, case and
look-alikes make no difference.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from memory.scanner.folding import folded
from memory.scanner.views import beyond_ascii

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

FOLDER: Final = Path(__file__).parent / "languages"
# Concepts of no list: they are read from the shape of a word.
SHAPES: Final = ("link", "mail", "number", "record")
# Languages without blanks between words, and how many characters make about one word.
UNSPACED: Final = {"zh": 2, "ja": 3, "th": 5}
_UNSPACED_CHARS = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff"
_MARKS = "\u0900-\u0963\u0966-\u097f\u0981-\u09fe"
_LETTER = rf"(?:[^\W_{_UNSPACED_CHARS}]|[{_MARKS}])"
_WORD = rf"{_LETTER}+(?:['-]{_LETTER}+)*"
# Words, addresses, numbers of accounts, names in code, and signs that open a clause.
_SHAPES = {
    "link": r"https?://\S{1,300}",
    "mail": r"[\w.+-]{1,64}@[\w.-]{3,120}",
    "number": (r"[a-z]{2}\d{2}(?: ?[a-z\d]{4}){3,7}(?![a-z])|\d{4}(?:[ -]?\d{4}){2,4}"),
    "record": (
        r"(?:(?<![a-z])(?:ids?|nr|no|num|number)|n[\u00ba\u00b0]|\u2116)"
        r"[ .:#]{0,3}[a-z]{0,4}-?\d{3,24}"
    ),
    "code": r"[^\W_]{1,64}(?:_[^\W_]{1,64})+",
}
# The signs that open a clause.
CLAUSES: Final = frozenset(',:;([>"\u3001\uff0c\uff1a')
_WORD_OR_SIGN = rf"{_WORD}|[{re.escape(''.join(sorted(CLAUSES)))}]"
_WORDS_AND_SIGNS = re.compile(_WORD_OR_SIGN)
_ALL_TOKENS = re.compile(
    "|".join(f"(?P<{name}>{form})" for name, form in _SHAPES.items())
    + f"|{_WORD_OR_SIGN}"
)
# A text without any of these has words and signs only.
_HAS_SHAPE = re.compile(r"[@_]|://|\d\d")
_RECORD_DIGITS: Final = 3
_IS_UNSPACED = re.compile(f"[{_UNSPACED_CHARS}]")
_LONGEST_WORD: Final = 64
_TAIL_HEAD, _SHORTEST_COMPOUND, _LONGEST_ENDING = 4, 10, 3
_GAP: Final = ".."
# What stands among the tokens for what is no word.
_NO_WORD: Final = "\0"
_WORDS_IN_GAP, _CHARS_IN_GAP = 6, 14


class Part(NamedTuple):
    """A word of a form. An open one has any ending; a loose one follows a gap."""

    text: str
    is_open: bool
    is_loose: bool = False


class Phrase(NamedTuple):
    """A form of several words; it is looked for by the one at ``key``."""

    parts: tuple[Part, ...]
    key: int
    language: str
    mask: int


class Occurrence(NamedTuple):
    """Tokens (characters in an unspaced language) that stand for concepts."""

    start: int
    end: int
    concepts: int


class Sentence(NamedTuple):
    """A sentence's tokens, and what they stand for."""

    text: str
    tokens: Sequence[str]
    occurrences: dict[str, list[Occurrence]]
    # Language → how many words it knows; words of unspaced scripts are not counted.
    explained: dict[str, int]

    def places(self) -> list[tuple[int, int]]:
        """Where each token stands in the text."""
        has_shape = _HAS_SHAPE.search(self.text)
        pattern = _ALL_TOKENS if has_shape else _WORDS_AND_SIGNS
        return [match.span() for match in pattern.finditer(self.text)]


def _read(path: Path) -> dict[str, list[str]]:
    """Concept → forms; and where the verb of an order stands: first, last or any."""
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = (line.partition(": ") for line in lines if not line.startswith("#"))
    return {name: forms.split(", ") for name, _, forms in rows}


ENGLISH: Final = "en"
_NAMES = sorted(path.stem for path in FOLDER.glob("*.txt"))
# English first: most words have no more than its concepts, and their masks are short.
_LISTS = {
    name: _read(FOLDER / f"{name}.txt")
    for name in sorted(_NAMES, key=lambda name: name != ENGLISH)
}
# The words that English texts have most of, the most frequent first.
_FREQUENT = (
    "the to a of and in is for with that this it you on be as are from by or an can not"
    " your when will if i we all at do was have no so one use any only what which has"
    " more they but my name there set time up now see run user"
)
_RANKS: Final = {word: rank for rank, word in enumerate(_FREQUENT.split())}
_COMMON: Final = frozenset(
    Path(__file__).with_name("common_words.txt").read_text(encoding="utf-8").split()
)
VERB_PLACES: Final = {name: lists.pop("verb")[0] for name, lists in _LISTS.items()}
LANGUAGES: Final = tuple(_LISTS)
PLACES: Final = {name: place for place, name in enumerate(LANGUAGES)}
NAMES: Final = (*SHAPES, *sorted({name for row in _LISTS.values() for name in row}))
BITS: Final = {name: 1 << number for number, name in enumerate(NAMES)}
# A mask has a mark for each language that a word tells, then the shapes, and then the
# concepts of each language.
_MARKED: Final = len(LANGUAGES)
_FIRST: Final = _MARKED + len(SHAPES)
_ANY_SHAPE: Final = (1 << len(SHAPES)) - 1
_ANY_MARK: Final = (1 << _MARKED) - 1
_WIDTH: Final = len(NAMES)
_OF_ONE: Final = (1 << _WIDTH) - 1


def by_language(mask: int) -> Iterator[tuple[str, int]]:
    """Each language that a mask has a mark of, with its concepts and the shapes."""
    marks, shapes = mask & _ANY_MARK, mask >> _MARKED & _ANY_SHAPE
    while marks:
        place = marks.bit_length() - 1
        marks ^= 1 << place
        yield LANGUAGES[place], mask >> _shift(place) & _OF_ONE | shapes


def _shift(place: int) -> int:
    return _FIRST + _WIDTH * place


def in_any(concepts: int) -> int:
    """The mask of some concepts in every language."""
    return sum(concepts << _shift(place) for place in range(_MARKED))


def of_shapes(*names: str) -> int:
    """The mask of some shapes."""
    return sum(BITS[name] << _MARKED for name in names)


def is_unspaced(text: str) -> bool:
    """Whether the text uses a script without blanks between words."""
    return _IS_UNSPACED.search(beyond_ascii(text)) is not None


# ── The lists as tables ────────────────────────────────────────────────────────
class Form(NamedTuple):
    """A form as it is written, the place of its language, and its concept.

    One of several words has the word by which it is looked for.
    """

    text: str
    place: int
    concept: int
    key: str = ""


class _Tables:
    """The forms of all lists, by a word of theirs."""

    def __init__(self) -> None:
        self._words: dict[str, list[Form]] = {}
        # By the letters that a word begins with.
        self._prefixes: dict[str, list[Form]] = {}
        # The last parts of compounds, by their first letters.
        self._tails: dict[str, list[Form]] = {}
        self.chars: dict[str, list[Phrase]] = {}

    def add(self, text: str, place: int, concept: int) -> None:
        language = LANGUAGES[place]
        if language in UNSPACED:
            phrase = Phrase(_unspaced_parts(text), 0, language, concept)
            self.chars.setdefault(text[0], []).append(phrase)
            return
        if text.startswith("*"):
            form = Form(text[1:], place, concept)
            self._tails.setdefault(text[1 : 1 + _TAIL_HEAD], []).append(form)
            return
        words = text.split()
        word = text if len(words) == 1 else _key(words)
        form = Form(text, place, concept, "" if word == text else word)
        table = self._prefixes if word.endswith("*") else self._words
        table.setdefault(word.rstrip("*"), []).append(form)

    def of(self, word: str) -> Iterator[Form]:
        """The forms that a word may be, or of which it may be the key.

        Of a word with an apostrophe also its parts: l'istruzione.
        """
        if len(word) > _LONGEST_WORD:
            return
        for part in (word, *word.split("'")) if "'" in word else (word,):
            yield from self._words.get(part, ())
            heads = [part[:length] for length in range(1, len(part) + 1)]
            for head in filter(self._prefixes.__contains__, heads):
                yield from self._prefixes[head]
        if len(word) >= _SHORTEST_COMPOUND:
            yield from self._last_parts(word)

    def _last_parts(self, word: str) -> Iterator[Form]:
        """What the last part of a compound may be: Systemanweisung, anweisung."""
        for start in range(2, len(word) - _TAIL_HEAD):
            for form in self._tails.get(word[start : start + _TAIL_HEAD], ()):
                ending = len(word) - start - len(form.text)
                if ending <= _LONGEST_ENDING and word.startswith(form.text, start):
                    yield form


def _key(words: Sequence[str]) -> str:
    """The word by which a phrase is looked for: one that texts seldom have."""
    return max(
        (word for word in words if word != _GAP),
        key=lambda word: (_RANKS.get(word, 99), word not in _COMMON, len(word)),
    )


def _phrase(form: Form) -> Phrase:
    parts: list[Part] = []
    is_loose, key = False, 0
    for word in form.text.split():
        if word == _GAP:
            is_loose = True
            continue
        if word == form.key:
            key = len(parts)
        parts.append(Part(word.rstrip("*"), word.endswith("*"), is_loose))
        is_loose = False
    return Phrase(tuple(parts), key, LANGUAGES[form.place], form.concept)


def _unspaced_parts(text: str) -> tuple[Part, ...]:
    pieces = [piece.strip(" *") for piece in text.split(_GAP)]
    return tuple(
        Part(piece, is_open=True, is_loose=number > 0)
        for number, piece in enumerate(pieces)
        if piece
    )


@cache
def _tables() -> _Tables:
    """The tables; made when the first text is scanned."""
    tables = _Tables()
    for place, lists in enumerate(_LISTS.values()):
        for name, forms in lists.items():
            for form in map(folded, forms):
                tables.add(form, place, BITS[name])
    return tables


def vocabulary(*languages: str) -> frozenset[str]:
    """The words of some lists, in Latin letters; those of open forms as they stand."""
    return frozenset(
        word
        for language in languages or LANGUAGES
        for forms in _LISTS[language].values()
        for word in folded(" ".join(forms).replace("*", "")).split()
        if word.isascii() and word.isalpha()
    )


# ── Words ──────────────────────────────────────────────────────────────────────
class Word(NamedTuple):
    """What is known of a word: its meanings, and the phrases of which it is the key.

    Those of which the word before or behind the key is certain are found by that.
    """

    before: dict[str, list[Phrase]]
    behind: dict[str, list[Phrase]]
    others: list[Phrase]
    # Language → what the word stands for there.
    meanings: dict[str, int]

    def add(self, phrase: Phrase) -> None:
        parts, key = phrase.parts, phrase.key
        if key and not parts[key].is_loose and not parts[key - 1].is_open:
            self.before.setdefault(parts[key - 1].text, []).append(phrase)
        elif key + 1 < len(parts) and not any(parts[key + 1][1:]):
            self.behind.setdefault(parts[key + 1].text, []).append(phrase)
        else:
            self.others.append(phrase)

    def phrases(self, tokens: Sequence[str], at: int) -> Sequence[Phrase]:
        """The phrases that may stand around the word."""
        phrases = self.others
        if self.before and at and (others := self.before.get(tokens[at - 1])):
            phrases = [*others, *phrases]
        if self.behind and at + 1 < len(tokens):
            phrases = [*self.behind.get(tokens[at + 1], ()), *phrases]
        return phrases


_NOTHING = Word({}, {}, [], {})
_MAX_KNOWN: Final = 1 << 16
# The hash of a word → what is known of it. Hashes differ in every process and say
# nothing about the word, so that names of one text are not kept for the next.
_memory: list[dict[int, Word]] = [{}]


def possible(word: str) -> int:
    """What the word stands for in each language, with its marks and shapes.

    A common English word tells no other language.
    """
    mask = 0
    for language, own in _known(word).meanings.items():
        mask |= _of_language(own, PLACES[language], is_common=word in _COMMON)
    is_record = sum(map(str.isdigit, word)) >= _RECORD_DIGITS
    return mask | (of_shapes("number", "record") if is_record else 0)


def _of_language(concepts: int, place: int, *, is_common: bool = False) -> int:
    mark = 0 if is_common and place else 1 << place
    return mark | concepts << _shift(place)


def is_key(word: str) -> bool:
    """Whether a phrase is looked for by the word."""
    return any(_known(word)[:3])


def in_phrases(tokens: Sequence[str], keys: Iterable[int]) -> int:
    """What the phrases stand for that have their keys at some places, with marks."""
    mask = 0
    for at in keys:
        for phrase in _known(tokens[at]).phrases(tokens, at):
            if _span(phrase, tokens, at):
                mask |= _of_language(phrase.mask, PLACES[phrase.language])
    return mask


def _words(tokens: Sequence[str]) -> list[Word]:
    """What is known of each token; of a distinct one it is found out only once."""
    memory = _memory[0]
    if len(memory) > _MAX_KNOWN:
        memory = _memory[0] = {}
    hashes = list(map(hash, tokens))
    for number, token in zip(hashes, tokens, strict=True):
        if number not in memory:
            memory[number] = _word(token)
    return list(map(memory.__getitem__, hashes))


def _known(token: str) -> Word:
    return _memory[0].get(hash(token)) or _words([token])[0]


def _word(token: str) -> Word:
    masks: dict[int, int] = {}
    word = Word({}, {}, [], {})
    for form in _tables().of(token):
        if form.key:
            word.add(_phrase(form))
        else:
            masks[form.place] = masks.get(form.place, 0) | form.concept
    for place in sorted(masks):
        word.meanings[LANGUAGES[place]] = masks[place]
    return word if any(word) else _NOTHING


# ── Sentences ──────────────────────────────────────────────────────────────────
def read(text: str, languages: Collection[str]) -> Sentence:
    """Return what the words of a folded sentence stand for in some languages."""
    shapes: list[Occurrence] = []
    if _HAS_SHAPE.search(text):
        tokens = []
        for match in _ALL_TOKENS.finditer(text):
            kind = match.lastgroup
            if kind in BITS:
                shapes.append(Occurrence(len(tokens), len(tokens) + 1, BITS[kind]))
            tokens.append(_NO_WORD if kind else match.group())
    else:
        tokens = _WORDS_AND_SIGNS.findall(text)
    by_language: dict[str, list[Occurrence]] = {name: [] for name in languages}
    explained = _occurrences(tokens, by_language)
    for occurrences in filter(None, by_language.values()):
        occurrences += shapes
    if is_unspaced(text):
        by_language.update(_unspaced(text))
    return Sentence(text, tokens, by_language, explained)


def _occurrences(
    tokens: Sequence[str], by_language: dict[str, list[Occurrence]]
) -> dict[str, int]:
    """Add what the tokens stand for; return how many words each language knows."""
    explained: dict[str, int] = {}
    for start, word in enumerate(_words(tokens)):
        if word is _NOTHING:
            continue
        for language, mask in word.meanings.items():
            explained[language] = explained.get(language, 0) + 1
            if language in by_language:
                by_language[language].append(Occurrence(start, start + 1, mask))
        for phrase in word.phrases(tokens, start):
            language = phrase.language
            if language in by_language and (span := _span(phrase, tokens, start)):
                by_language[language].append(Occurrence(*span, phrase.mask))
                explained[language] = explained.get(language, 0) + 1
    return explained


def _span(phrase: Phrase, tokens: Sequence[str], at: int) -> tuple[int, int] | None:
    """Where a phrase stands of which the key is at ``at``; None if it is not there.

    What stands in a gap belongs to other concepts, so it ends before the first one.
    """
    parts, key = phrase.parts, phrase.key
    start = at
    end = at + 1
    for number in range(key - 1, -1, -1):
        is_loose = parts[number + 1].is_loose
        last = start - 1 - _WORDS_IN_GAP * is_loose
        place = _find(parts[number], tokens, range(start - 1, max(last, 0) - 1, -1))
        if place is None:
            return None
        start, end = place, place + 1 if is_loose else end
    at, has_gap = at + 1, False
    for part in parts[key + 1 :]:
        last = min(at + _WORDS_IN_GAP * part.is_loose, len(tokens) - 1)
        place = _find(part, tokens, range(at, last + 1))
        if place is None:
            return None
        has_gap = has_gap or part.is_loose
        at = place + 1
        end = end if has_gap else at
    return start, end


def _find(part: Part, tokens: Sequence[str], places: range) -> int | None:
    """The first of some places where a part of a phrase is."""
    for place in places:
        token = tokens[place]
        if token == part.text or (part.is_open and token.startswith(part.text)):
            return place
    return None


def _unspaced(text: str) -> dict[str, list[Occurrence]]:
    by_language: dict[str, list[Occurrence]] = {}
    for start, char in enumerate(text):
        for phrase in _tables().chars.get(char, ()):
            first, *others = phrase.parts
            if not text.startswith(first.text, start):
                continue
            end = at = start + len(first.text)
            for part in others:
                place = text.find(part.text, at, at + _CHARS_IN_GAP + len(part.text))
                if place < 0:
                    break
                at = place + len(part.text)
            else:
                occurrence = Occurrence(start, end, phrase.mask)
                by_language.setdefault(phrase.language, []).append(occurrence)
    return by_language

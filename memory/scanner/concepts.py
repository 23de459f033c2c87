"""Which concepts the words of a sentence stand for, in each language of the word lists.

An attack is an act (drop the rules, name a secret, send something out) with its object
and its addressee. The lists in languages/ say how each language puts these; rules
combine them, see combinations.py. Words are compared folded, so accents, case and
look-alikes make no difference.
"""

from __future__ import annotations

import re
import tomllib
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
_WORDS = re.compile(_WORD)
# Words, addresses, numbers of accounts, names in code, and signs that open a clause.
_TOKENS = re.compile(
    rf"(?P<link>https?://\S{{1,300}})|(?P<mail>[\w.+-]{{1,64}}@[\w.-]{{3,120}})"
    rf"|(?P<number>[a-z]{{2}}\d{{2}}(?: ?[a-z\d]{{4}}){{3,7}}(?![a-z])|\d{{4}}(?:[ -]?\d{{4}}){{2,4}})"
    rf"|(?P<record>(?:(?<![a-z])(?:ids?|nr|no|num|number)|n[\u00ba\u00b0]|\u2116)[ .:#]{{0,3}}[a-z]{{0,4}}-?\d{{3,24}})"
    rf"|(?P<code>(?<![^\W_])[^\W_]++(?:_[^\W_]++)+)|(?P<word>{_WORD})|(?P<sign>[,:;(\[>\"\u3001\uff0c\uff1a])"
)
_IS_UNSPACED = re.compile(f"[{_UNSPACED_CHARS}]")
_HEAD: Final = 3
_TAIL_HEAD, _SHORTEST_COMPOUND = 4, 10
_GAP: Final = ".."
# What stands among the tokens for a sign, and for what is no word.
SIGN: Final = ""
_STANDS_FOR = {"sign": SIGN, **dict.fromkeys((*SHAPES, "code"), "\0")}
_WORDS_IN_GAP, _CHARS_IN_GAP = 6, 14


class Part(NamedTuple):
    """A word of a form. An open one has any ending; a loose one follows a gap."""

    text: str
    is_open: bool
    is_loose: bool = False
    # The last part of a compound: Systemanweisung for anweisung.
    is_tail: bool = False


class Phrase(NamedTuple):
    """A form of several words."""

    parts: tuple[Part, ...]
    language: str
    concept: int


class Occurrence(NamedTuple):
    """Tokens (characters in an unspaced language) that stand for concepts."""

    start: int
    end: int
    concepts: int


class Sentence(NamedTuple):
    """A sentence's tokens with their places, and what they stand for."""

    tokens: tuple[str, ...]
    places: tuple[tuple[int, int], ...]
    occurrences: dict[str, list[Occurrence]]
    # Language → how many words it knows; words of unspaced scripts are not counted.
    explained: dict[str, int]


_FILES = {
    path.stem: tomllib.loads(path.read_text(encoding="utf-8"))
    for path in sorted(FOLDER.glob("*.toml"))
}
# Language → concept → forms.
_LISTS: dict[str, dict[str, list[str]]] = {
    language: {name: row["forms"] for name, row in file["words"].items()}
    for language, file in _FILES.items()
}
# Where the verb of an order stands in its clause: first, last or any.
VERB_PLACES: Final = {language: str(file["verb"]) for language, file in _FILES.items()}
LANGUAGES: Final = tuple(_LISTS)
NAMES: Final = (*SHAPES, *sorted({name for row in _LISTS.values() for name in row}))
BITS: Final = {name: 1 << number for number, name in enumerate(NAMES)}
# A mask has the concepts of each language side by side.
WIDTH: Final = len(NAMES)
OF_ONE: Final = (1 << WIDTH) - 1


def of_language(mask: int, place: int) -> int:
    """The concepts of one language in a mask."""
    return mask >> WIDTH * place & OF_ONE


def is_unspaced(text: str) -> bool:
    """Whether the text uses a script without blanks between words."""
    return _IS_UNSPACED.search(beyond_ascii(text)) is not None


# ── The lists as tables ────────────────────────────────────────────────────────
class _Tables:
    """Forms by their first word or first letters; open forms by their head."""

    def __init__(self) -> None:
        self.words: dict[str, int] = {}
        self.prefixes: dict[str, list[tuple[str, int]]] = {}
        self.tails: dict[str, list[tuple[str, bool, int]]] = {}
        self.phrases: dict[str, list[Phrase]] = {}
        self.open_phrases: dict[str, list[Phrase]] = {}
        self.chars: dict[str, list[Phrase]] = {}
        # What a phrase cannot do without: its longest word.
        self.keys: dict[str, int] = {}
        self.open_keys: dict[str, list[tuple[str, int]]] = {}

    def add(self, form: str, language: str, concept: int) -> None:
        is_unspaced = language in UNSPACED
        parts = _unspaced_parts(form) if is_unspaced else _parts(form)
        if not parts:
            return
        first = parts[0]
        phrase = Phrase(parts, language, concept)
        mask = concept << WIDTH * LANGUAGES.index(language)
        if is_unspaced:
            self.chars.setdefault(first.text[0], []).append(phrase)
        elif len(parts) > 1:
            table = self.open_phrases if first.is_open else self.phrases
            head = first.text[:_HEAD] if first.is_open else first.text
            table.setdefault(head, []).append(phrase)
            self._add_word(self.keys, self.open_keys, _key(parts), mask)
        elif first.is_tail:
            row = first.text, first.is_open, mask
            self.tails.setdefault(first.text[:_TAIL_HEAD], []).append(row)
        else:
            self._add_word(self.words, self.prefixes, first, mask)

    @staticmethod
    def _add_word(
        words: dict[str, int],
        prefixes: dict[str, list[tuple[str, int]]],
        part: Part,
        mask: int,
    ) -> None:
        if part.is_open:
            prefixes.setdefault(part.text[:_HEAD], []).append((part.text, mask))
        else:
            words[part.text] = words.get(part.text, 0) | mask


def _key(parts: Sequence[Part]) -> Part:
    return max(parts, key=lambda part: len(part.text))


def _parts(form: str) -> tuple[Part, ...]:
    parts: list[Part] = []
    is_loose = False
    for piece in form.split():
        if piece == _GAP:
            is_loose = True
            continue
        words = _WORDS.findall(piece)
        is_open, is_tail = piece.endswith("*"), piece.startswith("*")
        for word in words:
            parts.append(Part(word, is_open and word is words[-1], is_loose, is_tail))
            is_loose = False
    return tuple(parts)


def _unspaced_parts(form: str) -> tuple[Part, ...]:
    pieces = [piece.strip(" *") for piece in form.split(_GAP)]
    return tuple(
        Part(piece, is_open=True, is_loose=number > 0)
        for number, piece in enumerate(pieces)
        if piece
    )


def _build() -> _Tables:
    tables = _Tables()
    for language, lists in _LISTS.items():
        for name, forms in lists.items():
            for form in forms:
                tables.add(folded(form), language, BITS[name])
    return tables


_TABLES = _build()


def vocabulary(language: str | None = None) -> frozenset[str]:
    """Every word of one list or of all; those of open forms as they stand."""
    lists = (_LISTS[language],) if language else _LISTS.values()
    return frozenset(
        word
        for forms in lists
        for row in forms.values()
        for form in row
        for word in form.replace("*", "").split()
        if word.isascii() and word.isalpha()
    )


# ── Words ──────────────────────────────────────────────────────────────────────
# A language and the concepts a word has there.
Meaning = tuple[str, int]


class Word(NamedTuple):
    """What is known of a word: its meanings, and the phrases it may begin.

    Those whose second word is certain are found by it.
    """

    meanings: tuple[Meaning, ...]
    by_second: dict[str, list[Phrase]]
    other_phrases: list[Phrase]


_NOTHING = Word((), {}, [])
_MAX_KNOWN: Final = 1 << 16
# The hash of a word → what is known of it. Hashes differ in every process and say
# nothing about the word, so that names of one text are not kept for the next.
_memory: list[dict[int, Word]] = [{}]


def _elided(word: str) -> Iterable[str]:
    """The word, and what stands before and behind an apostrophe: l'istruzione."""
    return (word, *word.split("'")) if "'" in word else (word,)


def _matching(
    word: str, words: dict[str, int], prefixes: dict[str, list[tuple[str, int]]]
) -> int:
    mask = words.get(word, 0)
    for length in range(1, min(_HEAD, len(word)) + 1):
        for prefix, concepts in prefixes.get(word[:length], ()):
            if word.startswith(prefix):
                mask |= concepts
    return mask


def _tails(word: str) -> int:
    """What the last part of a compound stands for."""
    mask = 0
    if len(word) >= _SHORTEST_COMPOUND:
        for place in range(2, len(word) - _TAIL_HEAD):
            for tail, is_open, concepts in _TABLES.tails.get(
                word[place : place + _TAIL_HEAD], ()
            ):
                rest = word[place:]
                if rest == tail or (is_open and rest.startswith(tail)):
                    mask |= concepts
    return mask


def possible(word: str) -> int:
    """What the word may stand for, alone or as the longest word of a phrase."""
    mask = 0
    for part in _elided(word):
        mask |= _matching(part, _TABLES.words, _TABLES.prefixes)
        mask |= _matching(part, _TABLES.keys, _TABLES.open_keys) | _tails(part)
    return mask


def _meanings(mask: int) -> Iterator[Meaning]:
    """The languages in a mask, each with its concepts."""
    while mask:
        place = (mask.bit_length() - 1) // WIDTH
        yield LANGUAGES[place], of_language(mask, place)
        mask &= (1 << WIDTH * place) - 1


def _phrases(word: str) -> Iterator[Phrase]:
    for part in _elided(word):
        yield from _TABLES.phrases.get(part, ())
        for length in range(1, min(_HEAD, len(part)) + 1):
            for phrase in _TABLES.open_phrases.get(part[:length], ()):
                if part.startswith(phrase.parts[0].text):
                    yield phrase


def _word(token: str) -> Word:
    number = hash(token)
    memory = _memory[0]
    known = memory.get(number)
    if known is None:
        if len(memory) > _MAX_KNOWN:
            memory = _memory[0] = {}
        mask = 0
        for part in _elided(token):
            mask |= _matching(part, _TABLES.words, _TABLES.prefixes) | _tails(part)
        known = Word(tuple(_meanings(mask)), {}, [])
        for phrase in _phrases(token):
            second = phrase.parts[1]
            if second.is_open or second.is_loose:
                known.other_phrases.append(phrase)
            else:
                known.by_second.setdefault(second.text, []).append(phrase)
        known = memory[number] = known if any(known) else _NOTHING
    return known


# ── Sentences ──────────────────────────────────────────────────────────────────
def read(text: str, languages: Collection[str]) -> Sentence:
    """Return what the words of a folded sentence stand for in some languages."""
    tokens: list[str] = []
    places: list[tuple[int, int]] = []
    shapes: list[Occurrence] = []
    for match in _TOKENS.finditer(text):
        kind = match.lastgroup or ""
        if kind in SHAPES:
            place = len(tokens)
            shapes.append(Occurrence(place, place + 1, BITS[kind]))
        tokens.append(_STANDS_FOR.get(kind, match.group()))
        places.append(match.span())
    by_language: dict[str, list[Occurrence]] = {name: [] for name in languages}
    explained: dict[str, int] = {}
    followers = [*tokens[1:], SIGN]
    for start, token in enumerate(tokens):
        meanings, by_second, phrases = _word(token)
        for language, concepts in meanings:
            explained[language] = explained.get(language, 0) + 1
            if language in by_language:
                by_language[language].append(Occurrence(start, start + 1, concepts))
        if followers[start] in by_second:
            phrases = [*by_second[followers[start]], *phrases]
        for phrase in phrases:
            if phrase.language not in by_language:
                continue
            if end := _end(phrase.parts, tokens, start + 1):
                occurrence = Occurrence(start, end, phrase.concept)
                by_language[phrase.language].append(occurrence)
    occurrences = {name: [*items, *shapes] for name, items in by_language.items() if items}
    if is_unspaced(text):
        occurrences.update(_unspaced(text))
    return Sentence(tuple(tokens), tuple(places), occurrences, explained)


def _end(parts: Sequence[Part], tokens: Sequence[str], at: int) -> int:
    """Where a phrase ends whose first word is before ``at``; 0 if it is not there.

    What stands in a gap belongs to other concepts, so the words before it count.
    """
    first_end = 0
    for part in parts[1:]:
        if part.is_loose:
            first_end = first_end or at
        reach = _WORDS_IN_GAP if part.is_loose else 0
        for place in range(at, min(at + reach + 1, len(tokens))):
            token = tokens[place]
            if token == part.text or (part.is_open and token.startswith(part.text)):
                at = place + 1
                break
        else:
            return 0
    return first_end or at


def _unspaced(text: str) -> dict[str, list[Occurrence]]:
    by_language: dict[str, list[Occurrence]] = {}
    for start, char in enumerate(text):
        for phrase in _TABLES.chars.get(char, ()):
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
                occurrence = Occurrence(start, end, phrase.concept)
                by_language.setdefault(phrase.language, []).append(occurrence)
    return by_language

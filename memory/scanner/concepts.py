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
    "word": _WORD,
    "sign": r"[,:;(\[>\"\u3001\uff0c\uff1a]",
}
# A shape is searched for only where its sign is in the text, which keeps it fast.
_SIGNS: Final = {"link": "://", "mail": "@", "code": "_"}
_IS_UNSPACED = re.compile(f"[{_UNSPACED_CHARS}]")
_HEAD: Final = 3
_TAIL_HEAD, _SHORTEST_COMPOUND, _LONGEST_ENDING = 4, 10, 3
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


def _read(path: Path) -> dict[str, list[str]]:
    """Concept → forms; and where the verb of an order stands: first, last or any."""
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = (line.partition(": ") for line in lines if not line.startswith("#"))
    return {name: forms.split(", ") for name, _, forms in rows}


_LISTS = {path.stem: _read(path) for path in sorted(FOLDER.glob("*.txt"))}
VERB_PLACES: Final = {name: lists.pop("verb")[0] for name, lists in _LISTS.items()}
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
# A form as it is written, its language and its concept.
Form = tuple[str, str, int]
# Words and open words by their first letters, each with a mask.
Heads = dict[str, list[tuple[str, int]]]


class _Tables:
    """Forms by a word or by letters that they begin with."""

    def __init__(self) -> None:
        self.words: dict[str, int] = {}
        self.prefixes: Heads = {}
        # The last parts of compounds.
        self.tails: Heads = {}
        self.phrases: dict[str, list[Form]] = {}
        self.open_phrases: dict[str, list[Form]] = {}
        self.chars: dict[str, list[Phrase]] = {}
        # What a phrase cannot do without: its longest word.
        self.keys: dict[str, int] = {}
        self.open_keys: Heads = {}

    def add(self, form: str, language: str, concept: int, mask: int) -> None:
        if language in UNSPACED:
            phrase = Phrase(_unspaced_parts(form), language, concept)
            self.chars.setdefault(form[0], []).append(phrase)
            return
        words = form.split()
        if len(words) > 1:
            first = words[0]
            table = self.open_phrases if first.endswith("*") else self.phrases
            head = first[:-1][:_HEAD] if first.endswith("*") else first
            table.setdefault(head, []).append((form, language, concept))
            _add_word(self.keys, self.open_keys, max(words, key=len), mask)
        elif form.startswith("*"):
            self.tails.setdefault(form[1 : 1 + _TAIL_HEAD], []).append((form[1:], mask))
        else:
            _add_word(self.words, self.prefixes, form, mask)


def _add_word(words: dict[str, int], prefixes: Heads, word: str, mask: int) -> None:
    if word.endswith("*"):
        prefixes.setdefault(word[:-1][:_HEAD], []).append((word[:-1], mask))
    else:
        words[word] = words.get(word, 0) | mask


def _phrase(form: Form) -> Phrase:
    text, language, concept = form
    parts: list[Part] = []
    is_loose = False
    for word in text.split():
        if word != _GAP:
            parts.append(Part(word.rstrip("*"), word.endswith("*"), is_loose))
        is_loose = word == _GAP
    return Phrase(tuple(parts), language, concept)


def _unspaced_parts(form: str) -> tuple[Part, ...]:
    pieces = [piece.strip(" *") for piece in form.split(_GAP)]
    return tuple(
        Part(piece, is_open=True, is_loose=number > 0)
        for number, piece in enumerate(pieces)
        if piece
    )


@cache
def _tables() -> _Tables:
    """The tables; made when the first text is scanned."""
    tables = _Tables()
    for place, (language, lists) in enumerate(_LISTS.items()):
        for name, forms in lists.items():
            concept = BITS[name]
            for form in map(folded, forms):
                tables.add(form, language, concept, concept << WIDTH * place)
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


def _matching(word: str, words: dict[str, int], prefixes: Heads) -> int:
    mask = words.get(word, 0)
    for length in range(1, min(_HEAD, len(word)) + 1):
        for prefix, concepts in prefixes.get(word[:length], ()):
            if word.startswith(prefix):
                mask |= concepts
    return mask


def _tails(word: str) -> int:
    """What the last part of a compound stands for: Systemanweisung, anweisung."""
    mask, tails = 0, _tables().tails
    if len(word) >= _SHORTEST_COMPOUND:
        for place in range(2, len(word) - _TAIL_HEAD):
            for tail, concepts in tails.get(word[place : place + _TAIL_HEAD], ()):
                ending = len(word) - place - len(tail)
                if ending <= _LONGEST_ENDING and word.startswith(tail, place):
                    mask |= concepts
    return mask


def possible(word: str) -> int:
    """What the word may stand for, alone or as the longest word of a phrase."""
    mask, tables = 0, _tables()
    for part in _elided(word):
        mask |= _matching(part, tables.words, tables.prefixes) | _tails(part)
        mask |= _matching(part, tables.keys, tables.open_keys)
    return mask


def _meanings(mask: int) -> Iterator[Meaning]:
    """The languages in a mask, each with its concepts."""
    while mask:
        place = (mask.bit_length() - 1) // WIDTH
        yield LANGUAGES[place], of_language(mask, place)
        mask &= (1 << WIDTH * place) - 1


def _phrases(word: str) -> Iterator[Phrase]:
    tables = _tables()
    for part in _elided(word):
        yield from map(_phrase, tables.phrases.get(part, ()))
        for length in range(1, min(_HEAD, len(part)) + 1):
            for form in tables.open_phrases.get(part[:length], ()):
                if part.startswith(form[0].partition("*")[0]):
                    yield _phrase(form)


def _word(token: str) -> Word:
    number = hash(token)
    memory = _memory[0]
    known = memory.get(number)
    if known is None:
        if len(memory) > _MAX_KNOWN:
            memory = _memory[0] = {}
        mask, tables = 0, _tables()
        for part in _elided(token):
            mask |= _matching(part, tables.words, tables.prefixes) | _tails(part)
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
@cache
def _tokens(without: tuple[str, ...]) -> re.Pattern[str]:
    """The tokens of a text, some shapes left out."""
    shapes = _SHAPES.items()
    return re.compile(
        "|".join(f"(?P<{name}>{form})" for name, form in shapes if name not in without)
    )


def read(text: str, languages: Collection[str]) -> Sentence:
    """Return what the words of a folded sentence stand for in some languages."""
    tokens: list[str] = []
    places: list[tuple[int, int]] = []
    shapes: list[Occurrence] = []
    signs = tuple(name for name, sign in _SIGNS.items() if sign not in text)
    for match in _tokens(signs).finditer(text):
        kind = match.lastgroup or ""
        if kind in SHAPES:
            shapes.append(Occurrence(len(tokens), len(tokens) + 1, BITS[kind]))
        tokens.append(_STANDS_FOR.get(kind, match.group()))
        places.append(match.span())
    by_language: dict[str, list[Occurrence]] = {name: [] for name in languages}
    explained = _occurrences(tokens, by_language)
    for occurrences in filter(None, by_language.values()):
        occurrences += shapes
    if is_unspaced(text):
        by_language.update(_unspaced(text))
    return Sentence(tuple(tokens), tuple(places), by_language, explained)


def _occurrences(
    tokens: Sequence[str], by_language: dict[str, list[Occurrence]]
) -> dict[str, int]:
    """Add what the tokens stand for; return how many words each language knows."""
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
            occurrences = by_language.get(phrase.language)
            if occurrences is None:
                continue
            if end := _end(phrase.parts, tokens, start + 1):
                occurrences.append(Occurrence(start, end, phrase.concept))
                explained[phrase.language] = explained.get(phrase.language, 0) + 1
    return explained


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
                occurrence = Occurrence(start, end, phrase.concept)
                by_language.setdefault(phrase.language, []).append(occurrence)
    return by_language

"""Which concepts the words of a sentence stand for, in each language of the word lists.

An attack is an act (drop the rules, name a secret, send something out) with its object
and its addressee. The lists in languages/ say how each language puts these; rules
combine them, see combinations.py. Words are compared folded, so accents, case and
look-alikes make no difference.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from memory.scanner import word_forms, word_lists
from memory.scanner.char_ranges import INDIC, UNSPACED
from memory.scanner.sentences import LINK_FORM, MAIL_FORM
from memory.scanner.views import beyond_ascii
from memory.scanner.word_lists import BITS, COMMON, PLACES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from memory.scanner.word_forms import Part, Phrase

_LETTER = rf"(?:[^\W_{UNSPACED}]|{INDIC})"
_WORD = rf"{_LETTER}+(?:['-]{_LETTER}+)*"
# Words, addresses, numbers of accounts, names in code, and signs that open a clause.
_SHAPES = {
    "link": LINK_FORM,
    "mail": MAIL_FORM,
    # Longer than in sentences.py, where an account is named beside it: eight digits are
    # a date, too.
    "number": (
        r"[a-z]{2}\d{2}(?:[ -]?[a-z\d]{4}){3,7}(?![a-z])|\d{4}(?:[ -]?\d{4}){2,5}"
    ),
    "record": (
        r"(?:(?<![a-z])(?:ids?|nr|no|num|number)|n\u00b0)"
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
# A character between words, in a script without blanks as well.
SIGN: Final = re.compile(rf"[^\w{UNSPACED}]")
_IS_UNSPACED = re.compile(f"[{UNSPACED}]")
# What stands among the tokens for what is no word.
_NO_WORD: Final = "\0"
_WORDS_IN_GAP, _CHARS_IN_GAP = 6, 14


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


def is_unspaced(text: str) -> bool:
    """Whether the text uses a script without blanks between words."""
    return _IS_UNSPACED.search(beyond_ascii(text)) is not None


def possible(word: str) -> int:
    """What the word stands for in each language, with its marks and shapes.

    A common English word tells no other language.
    """
    mask = 0
    for language, own in word_forms.entry(word).meanings.items():
        is_told = language == word_lists.ENGLISH or word not in COMMON
        mask |= word_lists.of_language(own, PLACES[language], is_marked=is_told)
    is_record = sum(map(str.isdigit, word)) >= _RECORD_DIGITS
    return mask | (word_lists.of_shapes("number", "record") if is_record else 0)


def is_key(word: str) -> bool:
    """Whether a phrase is looked for by the word."""
    return any(word_forms.entry(word)[:3])


def in_phrases(tokens: Sequence[str], keys: Iterable[int]) -> Iterator[tuple[int, int]]:
    """What phrases stand for that have their keys at some places, with their marks."""
    for at in keys:
        for phrase in word_forms.entry(tokens[at]).phrases_around(tokens, at):
            if _span(phrase, tokens, at):
                place = PLACES[phrase.language]
                yield at, word_lists.of_language(phrase.mask, place)


# ── Sentences ──────────────────────────────────────────────────────────────────
def read(
    text: str,
    languages: Collection[str],
    known_unspaced: dict[str, list[Occurrence]] | None = None,
) -> Sentence:
    """Return what the words of a folded sentence stand for in some languages."""
    shapes: list[Occurrence] = []
    tokens: list[str] = []
    if _HAS_SHAPE.search(text):
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
    by_language.update(unspaced(text) if known_unspaced is None else known_unspaced)
    return Sentence(text, tokens, by_language, explained)


def _occurrences(
    tokens: Sequence[str], by_language: dict[str, list[Occurrence]]
) -> dict[str, int]:
    """Add what the tokens stand for; return how many words each language knows."""
    explained: dict[str, int] = {}
    for start, word in enumerate(word_forms.words(tokens)):
        if word is word_forms.NOTHING:
            continue
        for language, mask in word.meanings.items():
            explained[language] = explained.get(language, 0) + 1
            if language in by_language:
                by_language[language].append(Occurrence(start, start + 1, mask))
        for phrase in word.phrases_around(tokens, start):
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


def unspaced(text: str) -> dict[str, list[Occurrence]]:
    """What each language without blanks between words finds in a folded text."""
    by_language: dict[str, list[Occurrence]] = {}
    if not is_unspaced(text):
        return by_language
    tables = word_forms.tables().chars
    # No form has the filler: at the end each key is looked up once.
    padded = text + _NO_WORD * word_forms.KEY_CHARS
    for start, char in enumerate(text):
        table = tables.get(char, {})
        for length in range(1, word_forms.KEY_CHARS + 1) if table else ():
            for phrase in table.get(padded[start : start + length], ()):
                if end := _unspaced_end(phrase, text, start):
                    occurrence = Occurrence(start, end, phrase.mask)
                    by_language.setdefault(phrase.language, []).append(occurrence)
    return by_language


def _unspaced_end(phrase: Phrase, text: str, start: int) -> int:
    """Where a phrase ends that may start there, before its first gap; 0 without it."""
    first, *further = phrase.parts
    if not text.startswith(first.text, start):
        return 0
    end = at = start + len(first.text)
    for part in further:
        place = text.find(part.text, at, at + _CHARS_IN_GAP + len(part.text))
        if place < 0:
            return 0
        at = place + len(part.text)
    return end

"""The words of a registered name, and every way in which each of them is spelled."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import takewhile
from typing import Final, NamedTuple

from gdpr.matching import inflection, normalize, transliteration
from gdpr.matching.name_context import PARTICLES, TITLES

_JOINT: Final = r"[\s'’.\-\u2010]{0,3}"
_HISSING: Final = ("s", "x", "z", "ch", "sh")
_STEM: Final = 4


class Spelling(NamedTuple):
    """How a word is written: in which letters, and with which ending.

    ``is_short``: only where the text has an umlaut. ``cases`` are those of its ending.
    """

    is_other_letters: bool = False
    is_short: bool = False
    has_s: bool = False
    cases: str = ""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a name: its spellings by their letters, and the expression of each."""

    spellings: dict[str, Spelling]
    patterns: tuple[str, ...]
    stems: tuple[str, ...]

    @property
    def plain(self) -> list[str]:
        """The spellings without an ending that need no umlaut."""
        return [
            letters
            for letters, spelling in self.spellings.items()
            if not (spelling.cases or spelling.has_s or spelling.is_short)
        ]

    @property
    def letters(self) -> str:
        """The folded letters as registered."""
        return next(iter(self.spellings))


class Parts(NamedTuple):
    """A name in its words as they were registered; ``first`` may be empty."""

    first: str
    middle: tuple[str, ...]
    surname: str


def letters_of(text: str) -> str:
    """Return the letters and digits of a folded text."""
    return "".join(character for character in text if character.isalnum())


def parts(value: str) -> Parts | None:
    """Return first name, middle names and surname; None for no name of words."""
    surname, comma, given_name = value.partition(",")
    words = (f"{given_name} {surname}" if comma else value).split()
    words = [word for word in words if any(map(str.isalpha, word))]
    while len(words) > 2 and letters_of(normalize.fold(words[0])) in TITLES:
        words = words[1:]
    if not words or any(map(normalize.unspaced, value)):
        return None
    inner = tuple(
        letters_of(normalize.fold(word))
        for word in words[1:-1]
        if normalize.fold(word) not in PARTICLES
    )
    return Parts(words[0] if len(words) > 1 else "", inner, words[-1])


def _endings(word: str, *, is_surname: bool) -> dict[str, Spelling]:
    """Return a folded word with each ending it can have."""
    endings = {word: Spelling()}
    if is_surname and word.isascii():
        endings[f"{word}s"] = Spelling(has_s=True)
        if word.endswith(_HISSING):
            endings[f"{word}es"] = Spelling(has_s=True)
    for form, cases in inflection.forms(word).items():
        endings.setdefault(form, Spelling(cases=cases))
    return endings


def word(text: str, *, is_surname: bool = False) -> Word:
    """Return the spellings of a word of a name, as it was registered."""
    registered = normalize.fold(text)
    bases = {registered: Spelling()}
    for other in sorted(transliteration.spellings(text)):
        bases[other] = Spelling(is_other_letters=True)
    if short := transliteration.contracted(registered):
        bases.setdefault(short, Spelling(is_other_letters=True, is_short=True))
    spellings: dict[str, Spelling] = {}
    patterns: list[str] = []
    stems: list[str] = []
    for base, letters in bases.items():
        words = normalize.WORD.findall(base)
        if not words:
            continue
        endings = _endings(words[-1], is_surname=is_surname)
        for form, ending in endings.items():
            spelled_words = [*words[:-1], form]
            spelling = ending._replace(
                is_other_letters=letters.is_other_letters, is_short=letters.is_short
            )
            spellings.setdefault("".join(spelled_words), spelling)
            patterns.append(_JOINT.join(map(re.escape, spelled_words)))
        stems += _stems(words, list(endings))
    return Word(spellings, tuple(dict.fromkeys(patterns)), tuple(dict.fromkeys(stems)))


def _stems(words: list[str], forms: list[str]) -> list[str]:
    """Return strings of which every text with such a form contains one."""
    if len(words) > 1:
        return [max(words[:-1], key=len)]
    columns = takewhile(
        lambda letters: len(set(letters)) == 1, zip(*forms, strict=False)
    )
    stem = "".join(letters[0] for letters in columns)
    return [stem] if len(stem) >= _STEM else forms

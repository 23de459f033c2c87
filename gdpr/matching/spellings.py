"""Other ways to write the words of a name, for a list that has only hashes of names.

A hash tells nothing about its name, so these are the ways from a text to the name: the
surname first, words written together, letters with a mark written as two.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from gdpr.matching import normalize, transliteration

TOKEN: Final = re.compile(
    rf"[{normalize.UNSPACED}]|(?:(?![{normalize.UNSPACED}]){normalize.LETTER})+"
)
# Beside each word of a name stand at most so many other signs.
_GAP: Final = 16
# A small letter and a capital: the words of ``MariaKeller`` begin there.
_SMALL: Final = "a-zß-öø-ÿāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįıłńņňőœŕřśŝşšţťũūŭůűųŵŷźżž"
_CAPITAL: Final = "A-ZÀ-ÖØ-ÞĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮİŁŃŅŇŐŒŔŘŚŜŞŠŢŤŨŪŬŮŰŲŴŶŸŹŻŽ"
_CAMEL: Final = re.compile(f"(?<=[{_SMALL}])(?=[{_CAPITAL}])")
# Between a surname and the first name after it: a sentence ends with a dot and a space.
_BETWEEN: Final = re.compile(r"\s{0,4},\s{0,4}|[._\-]|\s{1,4}")
# A word of two joined names: shorter parts occur in other words.
_MIN_PART: Final = 2
_MAX_JOINED: Final = 40
# As a whole text a shorter one is a word: Li Lian is no lilian.
_MIN_JOINED: Final = 8
_MIN_SURNAME: Final = 3


def runs(text: str, sizes: Collection[int]) -> Iterator[tuple[str, list[str], str]]:
    """Return each run of so many words: text, words, what is behind the first."""
    tokens = [(match.start(), match.end()) for match in TOKEN.finditer(text)]
    words = [text[start:end] for start, end in tokens]
    for size in sizes:
        for first in range(len(tokens) - size + 1):
            start, end = tokens[first][0], tokens[first + size - 1][1]
            run = words[first : first + size]
            if end - start > len("".join(run)) + _GAP * size:
                continue
            gap = text[tokens[first][1] : tokens[first + 1][0]] if size > 1 else ""
            yield text[start:end], run, gap


def of_text(text: str) -> Iterator[str]:
    """Yield further readings of a text, folded: words apart, marks as two letters."""
    composed = unicodedata.normalize("NFC", text)
    apart = _CAMEL.sub(" ", composed)
    if apart != composed:
        yield normalize.fold(apart)
    spelled = text if text.isascii() else transliteration.two_letters(apart)
    if spelled not in (text, apart):
        yield normalize.fold(spelled)


def of_run(words: Sequence[str], gap: str) -> Iterator[str]:
    """Yield the names that words in a row may be, ``gap`` being behind the first."""
    plain = " ".join(words)
    yield plain
    if short := transliteration.contracted(plain):
        yield short
    if len(words) > 1 and ("," in gap or _BETWEEN.fullmatch(gap)):
        yield from of_run((" ".join(words[1:]) + " " + words[0],), "")


def of_field(value: str) -> Iterator[str]:
    """Yield the names that the whole value of a field may be."""
    yield value
    for text in (normalize.fold(value), *of_text(value)):
        words = normalize.WORD.findall(text)
        yield from of_run(words, " ") if words else ()
        if len(words) == 1 and len(text) <= _MAX_JOINED:
            yield from _of_joined(words[0])


def of_word(text: str) -> Iterator[str]:
    """Yield the names that a text may be that is one word, as a crew's slug is."""
    word = normalize.fold(text.strip())
    if word.isalpha() and _MIN_JOINED <= len(word) <= _MAX_JOINED:
        yield from _of_joined(word)


def _of_joined(word: str) -> Iterator[str]:
    for at in range(_MIN_PART, len(word) - _MIN_PART + 1):
        yield from of_run((word[:at], word[at:]), " ")


def initial_of(words: Sequence[str]) -> str | None:
    """Return the initial and surname of a name of several words."""
    if len(words) < 2 or len(words[-1]) < _MIN_SURNAME or len(words[0]) < _MIN_PART:
        return None
    if any(map(normalize.unspaced, "".join(words))):
        return None
    return f"{words[0][0]} {words[-1]}"

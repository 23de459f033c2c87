"""Split text into words, leave out stop words, fold names for comparison."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_WORD: Final = re.compile(r"[^\W_]+")
# Sorting a long run of combining marks takes time that grows with its square.
_LONG_RUN: Final = re.compile(r"(\W{30})\W+")
_PHRASE: Final = re.compile(r'"([^"]+)"')

_STOP: Final = """
    a about above after again all am an and any are as at be because been before being
    below between both but by can cannot could did do does doing down during each few
    for from further had has have having he her here hers him his how i if in into is
    it its itself just me more most my no nor not of off on once only or other our
    ours out over own same she should so some such than that the their theirs them
    then there these they this those through to too under until up very was we were
    what when where which while who whom why will with would you your yours
"""
STOP_WORDS: Final = frozenset(_STOP.split())


def composed(text: str) -> str:
    """Return text in lower case and in NFC, with what is between its words cut off.

    Between two words stand thirty characters at most.
    """
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", _LONG_RUN.sub(r"\1", text)).lower()


def split(text: str) -> list[str]:
    """Return the lower-case words of a text, as the index does."""
    return _WORD.findall(composed(text))


def without_stop_words(words: list[str]) -> list[str]:
    """Return the words without stop words, or all of them when nothing else is left."""
    significant = [word for word in words if word not in STOP_WORDS]
    return list(dict.fromkeys(significant or words))


def phrases(text: str) -> tuple[list[list[str]], list[str]]:
    """Return the quoted phrases of a search, each as its words, and the other words."""
    quoted = [split(part) for part in _PHRASE.findall(text)]
    return [words for words in quoted if words], split(_PHRASE.sub(" ", text))


def fold(text: str) -> str:
    """Return text without case, accents and doubled spaces, for comparing names."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    plain = unicodedata.normalize("NFKD", plain)
    bare = "".join(c for c in plain if not unicodedata.combining(c))
    return " ".join(unicodedata.normalize("NFKC", bare).split())

"""The tokens of a question as the grammar of time expressions reads them."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

# "mid-May" is two tokens; a dash that is no hyphen is one of its own.
_CHUNK: Final = re.compile(
    r"(?:mid|early|late)(?=-\w)|[–—]|[^\s,;!?()\[\]{}<>|\"“”„«»`*–—]+", re.IGNORECASE
)
_LEADING: Final = "'‘’-.:"
_TRAILING: Final = ".:'‘’…-/&"
_POSSESSIVES: Final = ("'s", "’s")
_CLAUSE_ENDS: Final = frozenset(',;!?)]}"”“\n')


@dataclass(frozen=True, slots=True)
class Token:
    """One word or number: ``word`` in lower case, ``start`` and ``end`` in the text.

    ``closes`` says that a clause ends after it, ``dotted`` that a full stop follows.
    """

    word: str
    start: int
    end: int
    is_capital: bool
    closes: bool
    dotted: bool


def split(text: str) -> list[Token]:
    """Return the tokens of a text, without punctuation and possessive endings."""
    last = len(text.rstrip())
    return [
        token
        for match in _CHUNK.finditer(text)
        if (token := _token(text, match[0], match.start(), last)) is not None
    ]


def _token(text: str, chunk: str, start: int, last: int) -> Token | None:
    end = start + len(chunk)
    if chunk not in ("-", "–", "—"):
        chunk = chunk.rstrip(_TRAILING)
        bare = chunk.lstrip(_LEADING)
        start += len(chunk) - len(bare)
        chunk = bare
        if chunk.endswith(_POSSESSIVES):
            chunk = chunk[:-2]
    if not chunk or text[end : end + 1] == "(":
        return None  # "today()" is a function
    tail = text[start + len(chunk) : end]
    dotted = tail.startswith(".")
    return Token(
        word=chunk.lower() if chunk.isascii() else _lower(chunk),
        start=start,
        end=start + len(chunk),
        is_capital=chunk[0].isupper(),
        closes=tail.startswith((".", ":")) or end >= last or text[end] in _CLAUSE_ENDS,
        dotted=dotted,
    )


def _lower(chunk: str) -> str:
    return unicodedata.normalize("NFC", chunk).lower()

"""Escapes in a text: of JSON, URLs and HTML, and of quoted-printable."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Final

# A character after resolving escapes, with its start and end in the original.
Units = list[tuple[str, int, int]]

ESCAPE: Final = re.compile(
    r"(?:%[0-9A-Fa-f]{2})+"
    r"|\\u[dD][89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F][0-9A-Fa-f]{2}"
    r"|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\[nrtbf\"'/\\]"
    r"|&#[0-9]{1,7};|&#[xX][0-9A-Fa-f]{1,6};|&[a-zA-Z]{2,8};"
)
# Quoted-printable: bytes, also with a line end between them, and a line end alone.
_SOFT_END: Final = r"=[ \t]{0,8}\r?\n"
QUOTED: Final = re.compile(
    rf"=[0-9A-Fa-f]{{2}}(?:(?:{_SOFT_END})?=[0-9A-Fa-f]{{2}})*|{_SOFT_END}"
)
_BYTE: Final = re.compile(r"[%=]([0-9A-Fa-f]{2})")
_LETTERS: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
# The first character of an escape → the escape; the character is looked for first.
_HINTS: Final = {
    "%": re.compile(r"%[0-9A-Fa-f]{2}"),
    "\\": re.compile(r"\\[uxnrtbf\"'/\\]"),
    "&": re.compile(r"&(?:#[xX]?[0-9A-Fa-f]|[a-zA-Z]{2,8};)"),
}


def _bytes(run: str) -> Iterator[tuple[str, int]]:
    """Return the characters of a run of escaped bytes, each with its length."""
    matches = list(_BYTE.finditer(run))
    places = [*(match.start() for match in matches), len(run)]
    data = bytes.fromhex("".join(match[1] for match in matches))
    try:
        text, codec = data.decode(), "utf-8"
    except UnicodeDecodeError:
        text, codec = data.decode("latin-1"), "latin-1"
    at = 0
    for character in text:
        size = len(character.encode(codec))
        yield character, places[at + size] - places[at]
        at += size


def _escaped(escape: str) -> Iterator[tuple[str, int]]:
    """Return the characters of an escape, each with its length in the source."""
    if escape.startswith(("%", "=")):
        yield from _bytes(escape) if escape[1:2].isalnum() else ()
    elif escape.startswith("&"):
        read = unescape(escape)
        yield (read if len(read) == 1 else "\ufffd"), len(escape)
    elif escape[1] == "u" and len(escape) == 12:
        pair = bytes.fromhex(escape[2:6] + escape[8:12])
        yield pair.decode("utf-16-be"), len(escape)
    elif escape[1] in "ux":
        yield chr(int(escape[2:], 16)), len(escape)
    else:
        yield _LETTERS.get(escape[1], escape[1]), len(escape)


def without_escapes(units: Units, escapes: re.Pattern[str] = ESCAPE) -> Units | None:
    """Return units with escapes resolved, None when there are none."""
    text = text_of(units)
    read: Units = []
    at = 0
    for match in escapes.finditer(text):
        read.extend(units[at : match.start()])
        at = match.start()
        for character, length in _escaped(match[0]):
            read.append((character, units[at][1], units[at + length - 1][2]))
            at += length
        at = match.end()
    if at == 0:
        return None
    read.extend(units[at:])
    return read


def text_of(units: Units) -> str:
    return "".join(character for character, _, _ in units)


def units_of(text: str) -> Units:
    return [(c, i, i + 1) for i, c in enumerate(text)]


def has_escapes(text: str) -> bool:
    """Whether a text may read differently with its escapes resolved."""
    return any(hint in text and look.search(text) for hint, look in _HINTS.items())


def is_query(text: str) -> bool:
    """Whether a text may be the query of a URL, where a plus is a space."""
    return "+" in text and "%" in text and _HINTS["%"].search(text) is not None


def is_quoted(text: str) -> bool:
    return "=" in text and QUOTED.search(text) is not None


def replacement(match: re.Match[str]) -> str:
    return "".join(character for character, _ in _escaped(match[0]))

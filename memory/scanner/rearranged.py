"""Text whose parts stand in another order: turned, interleaved, every other line.

Each is recognised by a property that ordinary lines lack, so that these cost one look.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memory.scanner import segment
from memory.scanner.views import apart, beyond_ascii

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memory.scanner.views import Piece, View

# Letters that look like a Latin one turned by half. Each, where it has one, with the
# letter it is read as; b and q, d and p, n and u are each other's turned form.
_TURNED = str.maketrans(
    "\u0250\u0254\u01dd\u025f\u0183\u0265\u1d09\u027e\u029e\u026f\u0279\u0287\u028c"
    "\u028d\u028e\u0131bqdpnu",
    "acefghijkmrtvwyiqbpdun",
)
_TURNED_SIGNS = frozenset(
    "\u0250\u0254\u01dd\u025f\u0183\u0265\u1d09\u027e\u029e\u026f\u0279\u0287\u028c\u028d"
    "\u028e"
)
_LEAST_TURNED, _READABLE, _MOSTLY = 5, 0.5, 0.8
_LEAST_BLANKS, _SHORTEST = 3, 24
_WORD_LINES = re.compile(r"(?:[^\S\n]{0,8}[^\s]{1,24}[^\S\n]{0,3}\n){7,400}[^\s]{0,24}")
_STOPS, _LONGEST, _LEAST_FIRST = (".", "!", "?"), 30, 4
_LEAST_LINES, _SAME, _SHORT_LINE = 8, 4, 14


def undo(view: View) -> Iterator[View]:
    """Views with the parts in the order in which they are read."""
    if view.kind == "split":
        return
    text = view.text
    lines = text.split("\n")
    beyond = beyond_ascii(text)
    if len(beyond) >= _LEAST_TURNED and not _TURNED_SIGNS.isdisjoint(beyond):
        yield from _by_line(view, lines, _turn, "turned")
    yield from _by_line(view, lines, _every_second, "interleaved")
    yield from _by_line(view, lines, _from_last, "split")
    if len(lines) >= _LEAST_LINES:
        yield from _every_other_line(view, lines)


def _by_line(
    view: View, lines: list[str], read: Callable[[str], str], kind: str
) -> Iterator[View]:
    """The lines that can be read another way."""
    parts: list[Piece] = []
    start = 0
    for line in lines:
        if plain := read(line):
            parts.append((plain, start, start + len(line)))
        start += len(line) + 1
    if parts:
        yield view.derive(apart(parts), kind=kind)


def _from_last(line: str) -> str:
    """The words of a line that begins with the end of a sentence."""
    first = line[:_LONGEST].partition(" ")[0]
    if first[-1:] not in _STOPS or not first[:-1].isalpha() or len(first) < _LEAST_FIRST:
        return ""
    return " ".join(line.split()[::-1]) if line[-1:].isalpha() else ""


def _turn(line: str) -> str:
    """The text of a line written upside down; from right to left as a rule."""
    if sum(char in _TURNED_SIGNS for char in set(line)) < 2:
        return ""
    plain = line.translate(_TURNED)
    readings = (plain[::-1], plain, " ".join(word[::-1] for word in plain.split()))
    best = max(readings, key=segment.readability)
    return best if segment.readability(best) >= _READABLE else ""


def _every_second(line: str) -> str:
    """The letters of a line of which every second character is filler.

    The blanks between words are then all in even places or all in odd ones.
    """
    if len(line) < _SHORTEST:
        return ""
    even = line[::2]
    blanks, even_blanks = line.count(" "), even.count(" ")
    if blanks < _LEAST_BLANKS:
        return _without_filler(even, line[1::2])
    if even_blanks not in (0, blanks):
        return ""
    plain = even if even_blanks else line[1::2]
    return plain if segment.readability(plain) >= _READABLE else ""


def _without_filler(even: str, odd: str) -> str:
    """The letters of a line without blanks whose other half is one sign."""
    for plain, filler in ((even, odd), (odd, even)):
        if filler.count(filler[0]) >= _MOSTLY * len(filler) and plain.isalpha():
            return plain
    return ""


def _every_other_line(view: View, lines: list[str]) -> Iterator[View]:
    """Each half of lines that are taken in turn, where these are short or repeated."""
    text = view.text
    parts: list[Piece] = []
    if text.count("\n") * _SHORT_LINE > len(text):
        for match in _WORD_LINES.finditer(text):
            words = match.group().split()
            halves = " ".join(words[::2]), " ".join(words[1::2])
            parts += [(half, *match.span()) for half in halves]
    else:
        for half, other in ((lines[::2], lines[1::2]), (lines[1::2], lines[::2])):
            if "" not in other and len(set(other)) * _SAME <= len(other):
                parts.append((" ".join(half), 0, len(text)))
    if parts:
        yield view.derive(apart(parts), kind="split")

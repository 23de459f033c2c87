"""Text whose parts stand in another order: turned, interleaved, every other line.

Each is recognised by a property that ordinary lines lack, so that these cost one look.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memory.scanner import segment
from memory.scanner.views import beyond_ascii, by_line, reordered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.scanner.views import Piece, View

# Letters that look like a Latin one turned by half. Each, where it has one, with the
# letter it is read as; b and q, d and p, n and u are each other's turned form.
_TURNED_LETTERS = str.maketrans(
    "\u0250\u0254\u01dd\u025f\u0183\u0265\u1d09\u027e\u029e\u026f\u0279\u0287\u028c"
    "\u028d\u028e\u0131bqdpnu",
    "acefghijkmrtvwyiqbpdun",
)
_TURNED_SIGNS = frozenset(
    "\u0250\u0254\u01dd\u025f\u0183\u0265\u1d09\u027e\u029e\u026f\u0279\u0287\u028c\u028d"
    "\u028e"
)
_LEAST_TURNED_LETTERS, _READABLE, _MOSTLY = 5, 0.5, 0.8
_LEAST_BLANKS, _SHORTEST, _FEWEST = 3, 24, 4
_WORD, _LONG, _LEAST_LONG = re.compile("[a-z]{1,40}"), 4, 2
_WORD_LINES = re.compile(r"(?:[^\S\n]{0,8}[^\s]{1,24}[^\S\n]{0,3}\n){7,400}[^\s]{0,24}")
_LINE_FROM_LAST = r"([^\W\d_]{3,30}[.!?] [^\n]{8,4000}[^\W\d_])(?=\n|\Z)"
_ENDS_FIRST = re.compile(rf"\n{_LINE_FROM_LAST}")
_ENDS_FIRST_LINE = re.compile(_LINE_FROM_LAST)
_BLANKS = bytes(0x20 if code <= 0x20 else 0x41 for code in range(256))
_NO_BLANK = b"A" * 32
_SAMPLE, _MOST_CHARS = 7, 8_000
_LEAST_LINES, _LINES_PER_FILLER, _SHORT_LINE = 8, 4, 14


def undo(view: View) -> Iterator[View]:
    """Views with the parts in the order in which they are read."""
    text = view.text
    beyond = beyond_ascii(text)
    if len(beyond) >= _LEAST_TURNED_LETTERS and not _TURNED_SIGNS.isdisjoint(beyond):
        yield from by_line(view, _turn, "turned")
    if _may_have_filler(text):
        yield from by_line(view, _every_second, "interleaved")
    yield from _from_last(view)
    if text.count("\n") >= _LEAST_LINES - 1:
        yield from _every_other_line(view)


def _from_last(view: View) -> Iterator[View]:
    """Lines that begin with the end of a sentence, from the last word to the first."""
    matches = [*_ENDS_FIRST.finditer(view.text)]
    if first := _ENDS_FIRST_LINE.match(view.text):
        matches.insert(0, first)
    parts = [
        (" ".join(match.group(1).split()[::-1]), *match.span(1)) for match in matches
    ]
    yield from reordered(view, parts, "respelled")


def _may_have_filler(text: str) -> bool:
    """Whether the blanks of some line are all in even or all in odd places."""
    marks = text.encode("ascii", "replace").translate(_BLANKS)
    even, odd = marks[::2], marks[1::2]
    return _has_filler(even, odd) or _has_filler(odd, even)


def _has_filler(half: bytes, other: bytes) -> bool:
    place = half.find(_NO_BLANK)
    while place >= 0:
        end = place + len(_NO_BLANK)
        if other.count(b" ", place, end) >= _FEWEST:
            return True
        place = half.find(_NO_BLANK, end)
    return False


def _turn(line: str) -> str:
    """The text of a line written upside down; from right to left as a rule."""
    if sum(char in _TURNED_SIGNS for char in set(line)) < 2:
        return ""
    plain = line.translate(_TURNED_LETTERS)
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
    return plain if _is_english(plain) else ""


def _is_english(text: str) -> bool:
    """Whether most letters belong to known words, some of them long."""
    words = tuple(_WORD.findall(text))
    long_words = [
        word for word in words if len(word) >= _LONG and segment.is_known(word)
    ]
    return len(long_words) >= _LEAST_LONG and segment.coverage(words) >= _READABLE


def _without_filler(even: str, odd: str) -> str:
    """The letters of a line without blanks whose other half is one sign."""
    for plain, filler in ((even, odd), (odd, even)):
        if filler.count(filler[0]) >= _MOSTLY * len(filler) and plain.isalpha():
            return plain
    return ""


def _is_repeated(lines: list[str]) -> bool:
    """Whether every other of the first lines is the same."""
    return lines[0] == lines[2] == lines[4] or lines[1] == lines[3] == lines[5]


def _every_other_line(view: View) -> Iterator[View]:
    """Each half of lines that are taken in turn, where these are short or repeated."""
    text = view.text
    parts: list[Piece] = []
    if text.count("\n") * _SHORT_LINE > len(text):
        for match in _WORD_LINES.finditer(text):
            words = match.group().split()
            halves = " ".join(words[::2]), " ".join(words[1::2])
            parts += [(half, *match.span()) for half in halves]
    elif _is_repeated(text.split("\n", _SAMPLE)) or _is_repeated(
        text.rsplit("\n", _SAMPLE)[::-1]
    ):
        lines = text.split("\n")
        for half, other in ((lines[::2], lines[1::2]), (lines[1::2], lines[::2])):
            if "" not in other and len(set(other)) * _LINES_PER_FILLER <= len(other):
                parts.append((" ".join(half)[:_MOST_CHARS], 0, len(text)))
    yield from reordered(view, parts, "split")

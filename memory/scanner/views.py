"""A derived text whose every span maps to a span of the original."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

_ASCII = bytes(range(128))
_REACH, _LONG = 400, 1000


def beyond_ascii(text: str) -> str:
    """The characters of a text that are not ASCII, in order."""
    if text.isascii():
        return ""
    encoded = text.encode("utf-8", "surrogatepass")
    return encoded.translate(None, _ASCII).decode("utf-8", "surrogatepass")


def nearby(
    pieces: list[tuple[str, int, int]], source: str
) -> list[tuple[str, int, int]]:
    """The pieces that differ from their source, with some of the text around them.

    Unchanged text has been scanned already; only its ends can form a match with
    changed text.
    """
    result: list[tuple[str, int, int]] = []
    for text, start, end in pieces:
        if len(text) <= _LONG or text != source[start:end]:
            result.append((text, start, end))
            continue
        first = text.find(" ", _REACH)
        last = text.rfind(" ", 0, len(text) - _REACH)
        if not 0 < first < last:
            result.append((text, start, end))
            continue
        result.append((text[:first], start, start + first))
        result.append(("\n\n", start + first, start + first))
        result.append((text[last:], start + last, end))
    return result


def _position(mark: tuple[int, int, int]) -> int:
    return mark[0]


@dataclass(frozen=True, slots=True)
class View:
    """Text derived from the original.

    `marks` are (position here, start there, end there) of pieces in order. A piece
    whose two sides are equally long maps character by character, any other maps as a
    whole. No marks at all means the view has the original's own offsets.
    """

    text: str
    marks: tuple[tuple[int, int, int], ...] = ()
    kind: str = "plain"
    depth: int = 0

    def _piece(self, position: int) -> tuple[int, int, int, int]:
        index = max(bisect_right(self.marks, position, key=_position) - 1, 0)
        begin, start, end = self.marks[index]
        last = index + 1 == len(self.marks)
        finish = len(self.text) if last else self.marks[index + 1][0]
        return begin, finish, start, end

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """The span of the original text that produced this span."""
        if not self.marks:
            return start, end
        begin, finish, source, source_end = self._piece(start)
        first = (
            source + start - begin if finish - begin == source_end - source else source
        )
        begin, finish, source, source_end = self._piece(max(end - 1, start))
        final = (
            source + end - begin
            if finish - begin == source_end - source
            else source_end
        )
        return first, max(final, first)

    def derive(
        self, pieces: list[tuple[str, int, int]], *, kind: str, hidden: bool = True
    ) -> View:
        """A view made of (text, start here, end here), mapped through this one."""
        marks: list[tuple[int, int, int]] = []
        position = 0
        for text, start, end in pieces:
            if text:
                marks.append((position, *self.origin(start, end)))
                position += len(text)
        text = "".join(piece[0] for piece in pieces)
        return View(text, tuple(marks), kind, self.depth + int(hidden))

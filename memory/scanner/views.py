"""A derived text whose every span maps to a span of the original."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# What a part of a text is read as, and where that part starts and ends.
Piece = tuple[str, int, int]
_ASCII = bytes(range(128))
# How much of the text around a change is kept; pieces shorter than a few times that
# are kept as they are.
_REACH, _LONG = 400, 2.5
_MAX_READ_AGAIN = 16_000


def beyond_ascii(text: str) -> str:
    """The characters of a text that are not ASCII, in order."""
    if text.isascii():
        return ""
    encoded = text.encode("utf-8", "surrogatepass")
    return encoded.translate(None, _ASCII).decode("utf-8", "surrogatepass")


def replaced(
    text: str, parts: Iterable[Piece], between: Callable[[str], str] = str
) -> list[Piece]:
    """A text with some parts replaced; ``between`` is applied to what lies between."""
    pieces: list[Piece] = []
    position = 0
    for part in parts:
        _, start, end = part
        pieces += [(between(text[position:start]), position, start), part]
        position = end
    return [*pieces, (between(text[position:]), position, len(text))]


def apart(parts: Iterable[Piece]) -> list[Piece]:
    """Parts with a blank line after each: no match runs from one into the next."""
    return [piece for part in parts for piece in (part, ("\n\n", part[2], part[2]))]


def nearby(pieces: list[Piece], source: str, reach: int = _REACH) -> list[Piece]:
    """The pieces that differ from their source, with some of the text around them.

    Unchanged text has been scanned already; only its ends can form a match with
    changed text.
    """
    result: list[Piece] = []
    for text, start, end in pieces:
        first = text.find(" ", reach)
        last = text.rfind(" ", 0, max(len(text) - reach, 0))
        is_changed = len(text) <= _LONG * reach or text != source[start:end]
        if is_changed or not 0 < first < last:
            result.append((text, start, end))
            continue
        result += apart([(text[:first], start, start + first)])
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
    `is_cut`: there was more to read in this way than is read. `source` is the text
    that was read, and `source_kind` how that had been.
    """

    text: str
    marks: tuple[tuple[int, int, int], ...] = ()
    kind: str = "plain"
    depth: int = 0
    is_cut: bool = False
    source: str = ""
    source_kind: str = "plain"

    def piece(self, index: int) -> tuple[int, int, int, int]:
        """The start and end of a piece, here and in the original."""
        begin, start, end = self.marks[index]
        is_last = index + 1 == len(self.marks)
        finish = len(self.text) if is_last else self.marks[index + 1][0]
        return begin, finish, start, end

    def _piece_at(self, position: int) -> tuple[int, int, int, int]:
        return self.piece(max(bisect_right(self.marks, position, key=_position) - 1, 0))

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """The span of the original text that produced this span."""
        if not self.marks:
            return start, end
        begin, finish, source, source_end = self._piece_at(start)
        first = (
            source + start - begin if finish - begin == source_end - source else source
        )
        begin, finish, source, source_end = self._piece_at(max(end - 1, start))
        final = (
            source + end - begin
            if finish - begin == source_end - source
            else source_end
        )
        return first, max(final, first)

    def with_parts(
        self, parts: Iterable[Piece], *, kind: str, reach: int = _REACH
    ) -> View:
        """The view with some parts replaced, and the text near them."""
        pieces = nearby(replaced(self.text, parts), self.text, reach)
        return self.derive(pieces, kind=kind)

    def derive(self, pieces: list[Piece], *, kind: str, hidden: bool = True) -> View:
        """A view made of (text, start here, end here), mapped through this one."""
        marks: list[tuple[int, int, int]] = []
        position = 0
        for text, start, end in pieces:
            if text:
                marks.append((position, *self.origin(start, end)))
                position += len(text)
        text = "".join(piece[0] for piece in pieces)
        depth = self.depth + int(hidden)
        return View(
            text,
            tuple(marks),
            kind,
            depth,
            source=self.text,
            source_kind=self.kind,
        )


def as_whole(text: str, start: int, end: int) -> Piece:
    """A part whose characters stand in another order than in its source.

    As long as that it would be mapped character by character.
    """
    return text + " " if len(text) == end - start else text, start, end


def reordered(view: View, parts: Iterable[Piece], kind: str) -> Iterator[View]:
    """One view of parts whose characters stand in another order, each text once.

    Reading them again has its cost, so they are read up to a total length.
    """
    distinct: dict[str, Piece] = {}
    for part in parts:
        distinct.setdefault(part[0], part)
    pieces: list[Piece] = []
    size = 0
    for text, start, end in distinct.values():
        size += len(text)
        if size > _MAX_READ_AGAIN:
            break
        pieces.append(as_whole(text, start, end))
    if distinct:
        plain = view.derive(apart(pieces), kind=kind)
        yield replace(plain, is_cut=size > _MAX_READ_AGAIN)


def by_line(view: View, read: Callable[[str], str], kind: str) -> Iterator[View]:
    """One view of the lines that can be read another way; ``read`` says how."""
    parts: list[Piece] = []
    start = 0
    for line in view.text.split("\n"):
        if plain := read(line):
            parts.append((plain, start, start + len(line)))
        start += len(line) + 1
    yield from reordered(view, parts, kind)

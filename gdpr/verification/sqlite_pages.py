"""The pages of a SQLite file: which b-tree each belongs to, and its unused bytes.

Between the list of cells and the cells themselves a page of a b-tree has a gap. When
SQLite moves cells to another page, to split a full one or to join two that became
empty, it overwrites the cells' former places only as far as new cells need them, also
with ``secure_delete``: what was there stays in the gap. Everything here reads the file
format as documented (sqlite.org/fileformat2.html) and nothing is written.

A number in a page may be wrong, because the file can change while it is read; the
caller treats every result as a hint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

INNER_INDEX: Final = 2
INNER_TABLE: Final = 5
LEAF_INDEX: Final = 10
LEAF_TABLE: Final = 13
# Inner pages of tables hold numbers only.
_WITH_CONTENT: Final = (INNER_INDEX, LEAF_INDEX, LEAF_TABLE)
_INNER: Final = (INNER_INDEX, INNER_TABLE)
FILE_HEADER: Final = 100
POINTER: Final = 2
GAPS_AT_ONCE: Final = 512
# Less is no text: a row that is put back leaves a pointer of two bytes.
MIN_CONTENT: Final = 4
# A single row cannot fill a page: so many bytes before it stay as they are. They were
# pointers, or the head of a cell, which has numbers.
UNREACHABLE: Final = 24

Match = Callable[[bytes], object]


def _number(data: bytes, at: int, size: int = 2) -> int:
    return int.from_bytes(data[at : at + size], "big")


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable length, and the offset behind it."""
    value = 0
    for index in range(8):
        byte = data[at + index]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + index + 1
    return value << 8 | data[at + 8], at + 9


def varint_size(value: int) -> int:
    """Return how many bytes a number takes."""
    return min(9, max(1, (value.bit_length() + 6) // 7))


# ── One page ─────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class Cell:
    """One row in a leaf of a table: its rowid, and the size of its record."""

    rowid: int
    payload: int


@dataclass(frozen=True, slots=True)
class Page:
    """The content of a page; ``start`` is where its header is."""

    data: bytes
    start: int = 0

    @property
    def kind(self) -> int:
        return self.data[self.start]

    @property
    def cells(self) -> range:
        """The offsets of the pointers to the page's cells."""
        first = self.start + (12 if self.kind in _INNER else 8)
        return range(first, first + POINTER * _number(self.data, self.start + 3), 2)

    @property
    def gap(self) -> tuple[int, int]:
        """Where the gap begins and ends."""
        end = _number(self.data, self.start + 5) or len(self.data)
        return self.cells.stop, end

    @property
    def unused(self) -> bytes:
        """The content of the gap."""
        begin, end = self.gap
        return self.data[begin:end]

    def free_bytes(self) -> int:
        """Return the size of all unused places: the gap and those between cells."""
        begin, end = self.gap
        count = end - begin + self.data[self.start + 7]
        block = _number(self.data, self.start + 1)
        while block:
            count += _number(self.data, block + 2)
            following = _number(self.data, block)
            # The list is in order of offsets; anything else is no list.
            block = following if following > block else 0
        return count

    def rows(self) -> Iterator[Cell]:
        """Yield the rows of a leaf of a table."""
        for at in self.cells:
            payload, behind = varint(self.data, _number(self.data, at))
            rowid, _ = varint(self.data, behind)
            yield Cell(rowid - (1 << 64) if rowid >> 63 else rowid, payload)

    def children(self) -> Iterator[int]:
        """Yield the numbers of the pages below an inner page."""
        for at in self.cells:
            yield _number(self.data, _number(self.data, at), 4)
        yield _number(self.data, self.start + 8, 4)


# ── The file ─────────────────────────────────────────────────────────────────
@dataclass(slots=True)
class Survey:
    """What a pass over the file showed, by numbers of pages.

    ``dirty`` are pages with content in their gap, ``hits`` those of them in which the
    search had a match. Inner pages are kept for ``owners``.
    """

    pages: int = 0
    inner: dict[int, Page] = field(default_factory=dict)
    dirty: dict[int, Page] = field(default_factory=dict)
    hits: set[int] = field(default_factory=set)


def _pages(pieces: Iterable[bytes], size: int) -> Iterator[Page]:
    """Yield the pages of a file in order."""
    rest, start = b"", FILE_HEADER
    for piece in pieces:
        data = rest + piece if rest else piece
        end = len(data) - len(data) % size
        for at in range(0, end, size):
            yield Page(data[at : at + size], start)
            start = 0
        rest = data[end:]


def survey(
    pieces: Iterable[bytes], size: int, has_match: Match, keep: int = 0
) -> Survey:
    """Read every page of a file once; ``has_match`` searches the content of gaps.

    Of the pages without a match, the first ``keep`` are in the result.
    """
    result, zeros = Survey(), bytes(size)
    pending: list[tuple[int, Page, bytes]] = []
    for number, page in enumerate(_pages(pieces, size), start=1):
        result.pages = number
        kind = page.kind
        if kind in _INNER:
            result.inner[number] = page
        if kind in _WITH_CONTENT:
            content = page.unused
            is_empty = content == zeros[: len(content)]
            if not is_empty and _has_content(page, content):
                pending.append((number, page, content))
        if len(pending) >= GAPS_AT_ONCE:
            _look(pending, has_match, result, keep)
            pending.clear()
    _look(pending, has_match, result, keep)
    return result


def _has_content(page: Page, content: bytes) -> bool:
    """Whether a gap has more than pointers to cells that are no longer there."""
    unreachable = UNREACHABLE if len(page.cells) <= 1 else 0
    return len(content[unreachable:].strip(b"\x00")) >= MIN_CONTENT


def _look(
    pending: Sequence[tuple[int, Page, bytes]],
    has_match: Match,
    result: Survey,
    keep: int,
) -> None:
    """Search gaps, all together first: mostly none has a match."""
    has_any = has_match(b"\x00".join(content for _, _, content in pending))
    for number, page, content in pending:
        if has_any and has_match(content):
            result.hits.add(number)
            result.dirty[number] = page
        elif len(result.dirty) < keep:
            result.dirty[number] = page


def owners(result: Survey, roots: Mapping[int, str]) -> dict[int, str]:
    """Return page → name of its b-tree, from the b-trees' first pages downwards."""
    names: dict[int, str] = {}
    for root, name in roots.items():
        stack = [root]
        while stack:
            number = stack.pop()
            if number in names or not 0 < number <= result.pages:
                continue
            names[number] = name
            if number in result.inner:
                stack.extend(result.inner[number].children())
    return names

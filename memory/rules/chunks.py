"""Split a memory file into chunks for search, with headings and line numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

CHUNK_CHARS: Final = 600
_HEADING: Final = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
_FENCE: Final = re.compile(r"^\s*(```|~~~)")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a file; lines count from 1, headings are joined by ›."""

    heading: str
    text: str
    line_start: int
    line_end: int


def _pieces(line: str) -> list[str]:
    """Split a line that is longer than a chunk, at spaces where there are any."""
    parts = []
    while len(line) > CHUNK_CHARS:
        at = line.rfind(" ", CHUNK_CHARS // 2, CHUNK_CHARS)
        at = at if at > 0 else CHUNK_CHARS
        parts.append(line[:at])
        line = line[at:].lstrip()
    return [*parts, line]


class _Cutter:
    """Collects lines into chunks."""

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []
        # The headings above the next line, each with its level.
        self._headings: list[tuple[int, str]] = []
        self._lines: list[tuple[int, str]] = []

    def enter(self, level: int, title: str) -> None:
        """Close the chunk and start the next one below a heading."""
        self.close()
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        self._headings.append((level, title))

    @property
    def heading(self) -> str:
        return " › ".join(title for _, title in self._headings)

    def add(self, number: int, part: str) -> None:
        """Add a line; close the chunk before it when that is full enough."""
        size = sum(len(line) + 1 for _, line in self._lines)
        blank = not part.strip()
        if size + len(part) > CHUNK_CHARS or (blank and size > CHUNK_CHARS // 2):
            self.close()
        if self._lines or not blank:
            self._lines.append((number, part))

    def close(self) -> None:
        body = "\n".join(part for _, part in self._lines).strip()
        if body:
            first, last = self._lines[0][0], self._lines[-1][0]
            self.chunks.append(Chunk(self.heading, body, first, last))
        self._lines.clear()


def split(text: str) -> list[Chunk]:
    """Return a file's chunks: none longer than 600 characters, none blank.

    A chunk ends at a heading, at a blank line once it is half full, and at the cap.
    Every chunk has the headings above it. A ``#`` inside a code fence is no heading.
    """
    cutter, is_fenced = _Cutter(), False
    for number, line in enumerate(text.splitlines(), start=1):
        is_fenced = is_fenced ^ bool(_FENCE.match(line))
        heading = None if is_fenced else _HEADING.match(line)
        if heading:
            cutter.enter(len(heading[1]), heading[2])
            continue
        for part in _pieces(line):
            cutter.add(number, part)
    cutter.close()
    if not cutter.chunks and cutter.heading:
        return [Chunk(cutter.heading, cutter.heading, 1, 1)]
    return cutter.chunks

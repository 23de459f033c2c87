"""Cutting a memory file into pieces for search, with headings and line numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

CHUNK_CHARS: Final = 600
_HEADING: Final = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
_FENCE: Final = re.compile(r"^\s*(```|~~~)")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a file; lines count from 1, ``heading`` is like ``Refunds › Gift cards``."""

    heading: str
    text: str
    line_start: int
    line_end: int


class _Headings:
    """The path of headings above a line."""

    def __init__(self) -> None:
        self._path: list[tuple[int, str]] = []

    def enter(self, level: int, title: str) -> None:
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        self._path.append((level, title))

    def __str__(self) -> str:
        return " › ".join(title for _, title in self._path)


def _pieces(line: str) -> list[str]:
    """Cut a line that is longer than a chunk, at spaces where there are any."""
    parts = []
    while len(line) > CHUNK_CHARS:
        at = line.rfind(" ", CHUNK_CHARS // 2, CHUNK_CHARS)
        at = at if at > 0 else CHUNK_CHARS
        parts.append(line[:at])
        line = line[at:].lstrip()
    return [*parts, line]


def cut(text: str) -> list[Chunk]:
    """Return a file's pieces: none longer than 600 characters, none blank.

    A piece ends at a heading, at a blank line once it is half full, and at the cap.
    Every piece knows the headings above it. A ``#`` inside a code fence is no heading.
    """
    found: list[Chunk] = []
    headings, lines = _Headings(), list[tuple[int, str]]()
    fenced = False

    def close() -> None:
        body = "\n".join(part for _, part in lines).strip()
        if body:
            found.append(Chunk(str(headings), body, lines[0][0], lines[-1][0]))
        lines.clear()

    for number, line in enumerate(text.splitlines(), start=1):
        fenced = fenced ^ bool(_FENCE.match(line))
        heading = None if fenced else _HEADING.match(line)
        if heading:
            close()
            headings.enter(len(heading[1]), heading[2])
            continue
        for part in _pieces(line):
            size = sum(len(kept) + 1 for _, kept in lines)
            full = size + len(part) > CHUNK_CHARS
            if full or (not part.strip() and size > CHUNK_CHARS // 2):
                close()
            if part.strip() or lines:
                lines.append((number, part))
    close()
    if not found and str(headings):
        found.append(Chunk(str(headings), str(headings), 1, 1))
    return found

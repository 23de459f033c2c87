"""Held text in pieces for a page: findings marked, invisible characters named.

The text itself is never changed. Invisible characters become pieces of their own with a
name and a code point, and every finding has the same number in the text, in the table
and in the list of decoded payloads.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from memory import scanner
from memory.scanner import Finding, Segment, invisible, normalise
from memory.scanner.views import View

MAX_MARKS: Final = 60
MAX_CHARS: Final = 40_000
LEGEND: Final = 6
ROW: Final = 16
ROWS: Final = 256
_SHORT: Final = {
    0x00AD: "SHY",
    0x034F: "CGJ",
    0x061C: "ALM",
    0x180E: "MVS",
    0x200B: "ZWSP",
    0x200C: "ZWNJ",
    0x200D: "ZWJ",
    0x200E: "LRM",
    0x200F: "RLM",
    0x202A: "LRE",
    0x202B: "RLE",
    0x202C: "PDF",
    0x202D: "LRO",
    0x202E: "RLO",
    0x2060: "WJ",
    0x2066: "LRI",
    0x2067: "RLI",
    0x2068: "FSI",
    0x2069: "PDI",
    0x3164: "HF",
    0xFEFF: "BOM",
}


@dataclass(frozen=True, slots=True)
class Note(Finding):
    """One finding with the number that marks it in the text."""

    number: int = field(kw_only=True)

    @property
    def badge(self) -> str:
        """The badge colour of the severity."""
        return {"high": "red", "medium": "yellow"}.get(self.severity, "")

    @property
    def css(self) -> str:
        """The CSS class of the mark; empty for medium."""
        return "" if self.severity == "medium" else self.severity


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text with the same findings.

    ``hidden`` names an invisible character. ``opens`` are the numbers of the findings
    that begin here, ``closes`` of those that end here.
    """

    text: str
    hidden: str
    is_marked: bool
    css: str
    opens: tuple[int, ...]
    closes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class InvisibleKind:
    """An invisible character that occurs in the text."""

    short: str
    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Marked:
    """A text for a page; ``hidden_chars`` characters at the end are left out."""

    pieces: list[Piece]
    notes: list[Note]
    invisible: list[InvisibleKind]
    length: int
    hidden_chars: int

    @property
    def other_invisible_count(self) -> int:
        """How many kinds of invisible characters the legend does not name."""
        return max(0, len(self.invisible) - LEGEND)

    @property
    def decoded(self) -> list[Note]:
        """For each span that hides a payload, the finding that decoded most of it."""
        return payloads(self.notes)


def payloads(notes: Sequence[Note]) -> list[Note]:
    """Return, by span, the finding with the longest decoded text."""
    best: dict[tuple[int, int], Note] = {}
    for note in notes:
        if not note.decoded:
            continue
        longest = best.get((note.start, note.end))
        if longest is None or len(longest.decoded or "") < len(note.decoded):
            best[note.start, note.end] = note
    return sorted(best.values(), key=lambda note: note.start)


def notes(findings: Sequence[Mapping[str, Any]]) -> list[Note]:
    """Return findings numbered, heaviest first; one for each rule and span."""
    distinct: dict[tuple[str, int, int], Mapping[str, Any]] = {}
    for finding in findings:
        distinct.setdefault(
            (finding["rule"], finding["start"], finding["end"]), finding
        )
    by_weight = sorted(
        distinct.values(), key=lambda f: (-f["weight"], f["start"], f["rule"])
    )
    return [
        Note(**finding, number=number)
        for number, finding in enumerate(by_weight[:MAX_MARKS], 1)
    ]


def code_point(char: str) -> str:
    """Return a character as U+200B and its Unicode name in lower case."""
    name = unicodedata.name(char, "no name").lower()
    return f"U+{ord(char):04X} {name}"


def short_name(char: str) -> str:
    """Return the abbreviation of an invisible character."""
    code = ord(char)
    if code in _SHORT:
        return _SHORT[code]
    if 0xE0020 <= code < 0xE007F:
        return f"TAG {chr(code - 0xE0000).replace(' ', 'sp')}"
    if 0xFE00 <= code <= 0xFE0F:
        return f"VS{code - 0xFDFF}"
    if 0xE0100 <= code <= 0xE01EF:
        return f"VS{code - 0xE0100 + 17}"
    return f"U+{code:04X}"


def mark(text: str, findings: Sequence[Mapping[str, Any]]) -> Marked:
    """Split a text at every finding and at every run of an invisible character."""
    numbered = notes(findings)
    visible_text = text[:MAX_CHARS]
    pieces, counts, at = [], Counter[str](), 0
    for segment in scanner.segments(visible_text, numbered):
        pieces.append(_piece(segment, at, numbered))
        at += len(segment.text)
        if segment.is_unseen:
            counts[segment.text[0]] += len(segment.text)
    invisible_kinds = [
        InvisibleKind(short_name(c), code_point(c), n) for c, n in counts.most_common()
    ]
    return Marked(
        pieces, numbered, invisible_kinds, len(text), len(text) - len(visible_text)
    )


def _piece(segment: Segment, start: int, notes: Sequence[Note]) -> Piece:
    over = [notes[place] for place in segment.findings]
    text, hidden = segment.text, ""
    end = start + len(text)
    if segment.is_unseen:
        hidden = code_point(text[0])
        times = f" × {len(text)}" if len(text) > 1 else ""
        text = f"{short_name(text[0])}{times}"
    return Piece(
        text=text,
        hidden=hidden,
        is_marked=bool(over),
        css="" if segment.severity == "medium" else segment.severity or "",
        opens=tuple(note.number for note in over if note.start == start),
        closes=tuple(note.number for note in over if note.end == end),
    )


def as_read(text: str) -> str:
    """Return the text as the rules read it: folded, without invisible characters."""
    return normalise.normalise(View(text)).text


def hexdump(data: bytes) -> list[str]:
    """Return the first bytes in rows of sixteen, with their offset and letters."""
    rows = []
    for at in range(0, min(len(data), ROW * ROWS), ROW):
        row = data[at : at + ROW]
        letters = "".join(chr(b) if 0x20 <= b < 0x7F else "·" for b in row)
        rows.append(f"{at:08x}  {row.hex(' '):<47}  {letters}")
    return rows


def without_secrets(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return a text with secrets masked, long ones but for their ends."""
    for start, end in sorted(spans, reverse=True):
        secret = text[start:end]
        mask = "•" * len(secret)
        if len(secret) >= 16:
            mask = f"{secret[:8]}{'•' * 12}{secret[-4:]}"
        text = text[:start] + mask + text[end:]
    return text


def excerpt(text: str, notes: Sequence[Note], width: int = 110) -> str:
    """Return a line around the heaviest finding, without invisible characters.

    Secrets are masked, because a list is visible to people near the screen.
    """
    start = notes[0].start if notes else 0
    spans = [(note.start, note.end) for note in notes if note.family == "secrets"]
    text = without_secrets(text, spans)
    begin = max(text.rfind("\n", 0, start) + 1, start - width // 3, 0)
    if begin and text[begin - 1] != "\n":
        begin = max(text.find(" ", begin, start) + 1, begin)
    line = invisible.ANY.sub("", text[begin : begin + 4 * width])
    return " ".join(line.split())[:width]

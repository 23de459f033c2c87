"""Divide a text into the units that a redaction removes whole.

Removing only the words that made a rule fire would leave the rest of the order. So a
redaction removes the sentence or the line, the list item with all that is indented
below it, the table row, the quotation, the run of encoded lines, the comment, the
element or the fenced block. A unit that ends with a colon is removed with what it
introduces. Where a boundary is in doubt there is none: rather too much is removed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from memory.scanner.render import Span, redact

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

REVIEWED = "review"
_FENCE = re.compile(r"[ \t]{0,8}(`{3}|~{3})")
_ITEM = re.compile(
    r"[ \t]{0,40}(?:[-*+\u2022\u2023\u25aa\u25e6\u2013]"
    r"|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])[ \t]"
)
_ELEMENT = re.compile(r"[ \t]{0,40}<([a-zA-Z][\w-]{0,40})")
_QUOTE = re.compile(r"[ \t]{0,8}>")
_BLOB = re.compile(r"[ \t>|*-]{0,8}[A-Za-z0-9+/=_-]{24,}\s*\Z")
_BLOB_END = re.compile(r"[ \t>|*-]{0,8}[A-Za-z0-9+/=_-]{1,200}\s*\Z")
_MARKUP = re.compile(r"[ \t]{0,8}(?:#|\||={3}|-{3}|\*{3}|_{3}|\[)")
_SENTENCE_END = re.compile(
    r"[.!?:\u3002\uff01\uff1f\u2026][\"'\u201d\u2019\u00bb)\]*_]{0,3}\s*\Z"
)
_SENTENCE_BREAK = re.compile(
    r"[.!?\u2026]{1,8}[\"'\u201d\u2019\u00bb)\]*_]{0,3}\s+(?=[\"'\u201c\u2018\u00ab(\[*_]{0,3}[^\Wa-z_])"
    r"|[\u3002\uff01\uff1f\u061f\u0964][\"'\u201d\u2019\u300d\u300f)]{0,3}\s*"
)
_ABBREVIATED = re.compile(
    r"(?:^|[\s(])(?:[^\W\d_]|mr|mrs|ms|dr|st|no|nr|vs|etc|inc|ltd|co|corp|jr|sr|fig|prof"
    r"|approx|dept|resp|incl|bzw|usw|ca|[^\W\d_]\.[^\W\d_])\Z",
    re.IGNORECASE,
)
_COLON_END = re.compile(r"[:\uff1a][\"'\u201d\u2019\u00bb)\]*_]{0,3}\s*\Z")
_LOOK_BACK = 12
# In how many lines the end of an element is searched for.
_NEAR_LINES = 60


class Unit(NamedTuple):
    """A part of a text; ``is_item`` is a list item or a row of a table."""

    start: int
    end: int
    is_item: bool = False


@dataclass(frozen=True, slots=True)
class Redaction:
    """What a redaction leaves, and the parts of the original that it removed.

    ``neighbours`` are the parts that stay next to a removed one: a person has to tell
    whether they belong to the same order.
    """

    text: str
    parts: tuple[Span, ...]
    neighbours: tuple[tuple[int, int], ...]


# ── Blocks ───────────────────────────────────────────────────────────────────
class _Lines:
    """The lines of a text with their places."""

    def __init__(self, text: str) -> None:
        self.text = text.splitlines(keepends=True)
        self.start = [0]
        for line in self.text:
            self.start.append(self.start[-1] + len(line))
        self._found_lines: dict[str, int | None] = {}

    def find(self, words: str, at: int) -> int | None:
        """Return the number of the line after the first with some words, from ``at``.

        Callers go from top to bottom, so each result is cached until it is passed.
        """
        if words in self._found_lines:
            cached = self._found_lines[words]
            if cached is None or cached > at:
                return cached
        numbers = range(at, len(self.text))
        number = next((n + 1 for n in numbers if words in self.text[n]), None)
        self._found_lines[words] = number
        return number

    def find_in_paragraph(self, words: str, at: int) -> int | None:
        """Return the same within the lines of this paragraph."""
        for place in range(at, min(at + _NEAR_LINES, len(self.text))):
            if not self.text[place].strip():
                return None
            if words in self.text[place]:
                return place + 1
        return None

    def __len__(self) -> int:
        return len(self.text)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _fence_end(lines: _Lines, at: int) -> int | None:
    match = _FENCE.match(lines.text[at])
    return lines.find(match[1], at + 1) if match else None


def _comment_end(lines: _Lines, at: int) -> int | None:
    _, opens, rest = lines.text[at].rpartition("<!--")
    if not opens or "-->" in rest:
        return None
    # A comment that is not closed hides all that follows.
    return lines.find("-->", at + 1) or len(lines)


def _element_end(lines: _Lines, at: int) -> int | None:
    match = _ELEMENT.match(lines.text[at])
    if not match or f"</{match[1]}" in lines.text[at]:
        return None
    return lines.find_in_paragraph(f"</{match[1]}", at + 1)


def _encoded_end(lines: _Lines, at: int) -> int | None:
    if not _BLOB.match(lines.text[at]):
        return None
    end = at + 1
    while end < len(lines) and _BLOB.match(lines.text[end]):
        end += 1
    return end + 1 if end < len(lines) and _BLOB_END.match(lines.text[end]) else end


def _quotation_end(lines: _Lines, at: int) -> int | None:
    end = at
    while end < len(lines) and _QUOTE.match(lines.text[end]):
        end += 1
    return end if end > at else None


def _item_end(lines: _Lines, at: int) -> int | None:
    if not _ITEM.match(lines.text[at]):
        return None
    own, end = _indent(lines.text[at]), at + 1
    while end < len(lines) and lines.text[end].strip():
        before, line = lines.text[end - 1], lines.text[end]
        if _indent(line) <= own and (_begins_block(line) or _ends_sentence(before)):
            break
        end += 1
    return end


_BLOCKS = (_fence_end, _comment_end, _element_end, _encoded_end, _quotation_end)


def _ends_sentence(line: str) -> bool:
    return _SENTENCE_END.search(line[-8:]) is not None


def _is_row(line: str) -> bool:
    return line.lstrip().startswith("|") or line.count("|") > 1


def _begins_block(line: str) -> bool:
    """Whether a line begins a block, whatever comes before it."""
    marks = (_ITEM, _FENCE, _QUOTE, _ELEMENT, _MARKUP)
    return any(mark.match(line) for mark in marks) or _is_row(line) or "<!--" in line


def _continues(before: str, line: str) -> bool:
    """Whether a line continues the sentence of the line before."""
    if not line.strip() or _begins_block(line) or _ends_sentence(before):
        return False
    first = line.lstrip()[0]
    return not first.isupper() or before.rstrip()[-1:] in ",;-\u2013\u2014("


def _paragraph_end(lines: _Lines, at: int) -> int:
    end = at + 1
    if _MARKUP.match(lines.text[at]):
        return end
    while end < len(lines) and _continues(lines.text[end - 1], lines.text[end]):
        end += 1
    return end


# ── Sentences ────────────────────────────────────────────────────────────────
def _sentences(text: str, start: int, end: int) -> Iterator[Unit]:
    at = start
    for match in _SENTENCE_BREAK.finditer(text, start, end):
        before = text[max(at, match.start() - _LOOK_BACK) : match.start()]
        if match[0].startswith(".") and _ABBREVIATED.search(before):
            continue
        yield Unit(at, match.end())
        at = match.end()
    if at < end:
        yield Unit(at, end)


def units(text: str, *, by_sentence: bool = True) -> list[Unit]:
    """Return the parts of a text in order; together they are the whole of it."""
    lines, parts, at = _Lines(text), list[Unit](), 0
    while at < len(lines):
        start, line = lines.start[at], lines.text[at]
        end = next((e for block in _BLOCKS if (e := block(lines, at))), None)
        if end is not None:
            parts.append(Unit(start, lines.start[end]))
        elif (end := _item_end(lines, at)) is not None:
            parts.append(Unit(start, lines.start[end], is_item=True))
        elif _is_row(line):
            end = at + 1
            parts.append(Unit(start, lines.start[end], is_item=True))
        else:
            end = _paragraph_end(lines, at)
            paragraph = Unit(start, lines.start[end])
            parts += _sentences(text, *paragraph[:2]) if by_sentence else [paragraph]
        at = end
    return parts


# ── Removing ───────────────────────────────────────────────────────────────
# The number of a part to remove → the spans that lie in it.
_Removals = dict[int, list[Span]]


def _introduced_parts(
    text: str, parts: Sequence[Unit], at: int, lists: dict[int, int]
) -> Iterator[int]:
    """Return the parts that a part ending with a colon introduces.

    ``lists`` maps an item of a list to the first item removed with it, so that a list
    is passed through once.
    """
    introduction = parts[at]
    if not _COLON_END.search(text[introduction.start : introduction.end].rstrip()[-8:]):
        return
    following = at + 1
    while following < len(parts) and _is_blank(text, parts[following]):
        following += 1
    if following < len(parts) and not parts[following].is_item:
        yield following
        return
    first = following
    while following < len(parts) and parts[following].is_item:
        if lists.get(following, following) < following:
            return
        lists[following] = first
        yield following
        following += 1


def _is_blank(text: str, unit: Unit) -> bool:
    return not text[unit.start : unit.end].strip()


def _parts_to_remove(
    text: str, parts: Sequence[Unit], spans: Iterable[Span]
) -> _Removals:
    starts, removals = [unit.start for unit in parts], dict[int, list[Span]]()
    for span in spans:
        at = max(bisect_right(starts, span.start) - 1, 0)
        while at < len(parts) and parts[at].start < span.end:
            removals.setdefault(at, []).append(span)
            at += 1
    queue, lists = list(removals), dict[int, int]()
    while queue:
        at = queue.pop()
        for other in _introduced_parts(text, parts, at, lists):
            if other not in removals:
                removals[other] = []
                queue.append(other)
    return removals


def _trim(text: str, unit: Unit, spans: Sequence[Span]) -> tuple[int, int]:
    """Return a part without the blanks around it, unless a finding lies in them."""
    part = text[unit.start : unit.end]
    start = unit.start + len(part) - len(part.lstrip())
    end = unit.start + len(part.rstrip())
    for span in spans:
        start = min(start, max(span.start, unit.start))
        end = max(end, min(span.end, unit.end))
    return start, end


def _runs(text: str, parts: Sequence[Unit], removals: _Removals) -> Iterator[list[int]]:
    """Return runs of adjacent parts; blank lines do not separate them."""
    run: list[int] = []
    for at in sorted(removals):
        between = range(run[-1] + 1, at) if run else ()
        if run and not all(_is_blank(text, parts[place]) for place in between):
            yield run
            run = []
        run.append(at)
    if run:
        yield run


def _neighbours(
    text: str, parts: Sequence[Unit], removals: _Removals
) -> Iterator[tuple[int, int]]:
    """Return the remaining parts that are nearest to a removed one."""
    numbers = [at for at in range(len(parts)) if at not in removals]
    remaining = [at for at in numbers if not _is_blank(text, parts[at])]
    neighbours = set[int]()
    for at in removals:
        place = bisect_right(remaining, at)
        neighbours |= set(remaining[max(place - 1, 0) : place + 1])
    for at in sorted(neighbours):
        yield _trim(text, parts[at], ())


def _reasons(start: int, end: int, findings: Iterable[Span]) -> list[str]:
    """Return the families of the findings that lie in a removed part."""
    inside = {hit.family for hit in findings if hit.start < end and hit.end > start}
    return sorted(inside) or [REVIEWED]


def redact_units(
    text: str,
    spans: Sequence[Span],
    *,
    findings: Sequence[Span] = (),
    by_sentence: bool = True,
) -> Redaction:
    """Remove every part that a span touches; each run of parts leaves one mark.

    A mark names the families of the ``findings`` there, without any those of the spans.
    Whole paragraphs are removed where no person reviews the rest.
    """
    parts = units(text, by_sentence=by_sentence)
    removals = _parts_to_remove(text, parts, spans)
    marks: list[Span] = []
    for run in _runs(text, parts, removals):
        edges = [_trim(text, parts[at], removals[at]) for at in run]
        start, end = min(edge[0] for edge in edges), max(edge[1] for edge in edges)
        reasons = _reasons(start, end, findings or spans)
        marks += [Span(start, end, reason) for reason in reasons]
    neighbours = tuple(_neighbours(text, parts, removals))
    return Redaction(redact(text, marks), tuple(marks), neighbours)

"""Cut a text into the parts that a redaction takes out whole.

Taking out the words that made a rule fire leaves the order they stood in. So a
redaction takes the sentence or the line, the list item with all that is indented below
it, the table row, the quotation, the run of encoded lines, the comment, the element or
the fenced block. A part that ends with a colon takes along what it introduces. Where a
boundary is in doubt there is none: too much is taken rather than too little.
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
_TAIL = re.compile(r"[ \t>|*-]{0,8}[A-Za-z0-9+/=_-]{1,200}\s*\Z")
_ODD = re.compile(r"[ \t]{0,8}(?:#|\||={3}|-{3}|\*{3}|_{3}|\[)")
_CLOSED = re.compile(
    r"[.!?:\u3002\uff01\uff1f\u2026][\"'\u201d\u2019\u00bb)\]*_]{0,3}\s*\Z"
)
_END = re.compile(
    r"[.!?\u2026]{1,8}[\"'\u201d\u2019\u00bb)\]*_]{0,3}\s+(?=[\"'\u201c\u2018\u00ab(\[*_]{0,3}[^\Wa-z_])"
    r"|[\u3002\uff01\uff1f\u061f\u0964][\"'\u201d\u2019\u300d\u300f)]{0,3}\s*"
)
_ABBREVIATED = re.compile(
    r"(?:^|[\s(])(?:[^\W\d_]|mr|mrs|ms|dr|st|no|nr|vs|etc|inc|ltd|co|corp|jr|sr|fig|prof"
    r"|approx|dept|resp|incl|bzw|usw|ca|[^\W\d_]\.[^\W\d_])\Z",
    re.IGNORECASE,
)
_LEADS = re.compile(r"[:\uff1a][\"'\u201d\u2019\u00bb)\]*_]{0,3}\s*\Z")
_LOOK_BACK = 12
# Lines in which an element is looked for its end.
_NEAR = 60


class Unit(NamedTuple):
    """A part of a text; ``is_item`` is a list item or a row of a table."""

    start: int
    end: int
    is_item: bool = False


@dataclass(frozen=True, slots=True)
class Cut:
    """What a redaction leaves, and the parts of the original that it took out.

    ``beside`` are the parts that stay and stand next to one that went: nobody but a
    person can tell whether they belong to the same order.
    """

    text: str
    parts: tuple[Span, ...]
    beside: tuple[tuple[int, int], ...]


# ── Blocks ───────────────────────────────────────────────────────────────────
class _Lines:
    """The lines of a text with their places."""

    def __init__(self, text: str) -> None:
        self.text = text.splitlines(keepends=True)
        self.start = [0]
        for line in self.text:
            self.start.append(self.start[-1] + len(line))
        self._known: dict[str, int | None] = {}

    def find(self, words: str, at: int) -> int | None:
        """Return the line after the first, from ``at``, that holds some words.

        Asked from top to bottom: what was found, or was not, is looked for once.
        """
        if words in self._known:
            known = self._known[words]
            if known is None or known > at:
                return known
        every = range(at, len(self.text))
        found = next((n + 1 for n in every if words in self.text[n]), None)
        self._known[words] = found
        return found

    def near(self, words: str, at: int) -> int | None:
        """Return the same, of the lines of this paragraph."""
        for place in range(at, min(at + _NEAR, len(self.text))):
            if not self.text[place].strip():
                return None
            if words in self.text[place]:
                return place + 1
        return None

    def __len__(self) -> int:
        return len(self.text)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _fenced(lines: _Lines, at: int) -> int | None:
    found = _FENCE.match(lines.text[at])
    return lines.find(found[1], at + 1) if found else None


def _commented(lines: _Lines, at: int) -> int | None:
    _, opens, rest = lines.text[at].rpartition("<!--")
    if not opens or "-->" in rest:
        return None
    # A comment that nobody closes hides all that follows.
    return lines.find("-->", at + 1) or len(lines)


def _element(lines: _Lines, at: int) -> int | None:
    found = _ELEMENT.match(lines.text[at])
    if not found or f"</{found[1]}" in lines.text[at]:
        return None
    return lines.near(f"</{found[1]}", at + 1)


def _encoded(lines: _Lines, at: int) -> int | None:
    if not _BLOB.match(lines.text[at]):
        return None
    end = at + 1
    while end < len(lines) and _BLOB.match(lines.text[end]):
        end += 1
    return end + 1 if end < len(lines) and _TAIL.match(lines.text[end]) else end


def _quoted(lines: _Lines, at: int) -> int | None:
    end = at
    while end < len(lines) and _QUOTE.match(lines.text[end]):
        end += 1
    return end if end > at else None


def _listed(lines: _Lines, at: int) -> int | None:
    if not _ITEM.match(lines.text[at]):
        return None
    own, end = _indent(lines.text[at]), at + 1
    while end < len(lines) and lines.text[end].strip():
        line = lines.text[end]
        if _indent(line) <= own and (_begins(line) or _closes(lines.text[end - 1])):
            break
        end += 1
    return end


_BLOCKS = (_fenced, _commented, _element, _encoded, _quoted)


def _closes(line: str) -> bool:
    return _CLOSED.search(line[-8:]) is not None


def _is_row(line: str) -> bool:
    return line.lstrip().startswith("|") or line.count("|") > 1


def _begins(line: str) -> bool:
    """Whether a line begins something of its own, whatever stands before it."""
    marks = (_ITEM, _FENCE, _QUOTE, _ELEMENT, _ODD)
    return any(mark.match(line) for mark in marks) or _is_row(line) or "<!--" in line


def _goes_on(before: str, line: str) -> bool:
    """Whether a line is the rest of the sentence of the line before."""
    if not line.strip() or _begins(line) or _closes(before):
        return False
    first = line.lstrip()[0]
    return not first.isupper() or before.rstrip()[-1:] in ",;-\u2013\u2014("


def _paragraph(lines: _Lines, at: int) -> int:
    end = at + 1
    if _ODD.match(lines.text[at]):
        return end
    while end < len(lines) and _goes_on(lines.text[end - 1], lines.text[end]):
        end += 1
    return end


# ── Sentences ────────────────────────────────────────────────────────────────
def _sentences(text: str, start: int, end: int) -> Iterator[Unit]:
    at = start
    for found in _END.finditer(text, start, end):
        before = text[max(at, found.start() - _LOOK_BACK) : found.start()]
        if found[0].startswith(".") and _ABBREVIATED.search(before):
            continue
        yield Unit(at, found.end())
        at = found.end()
    if at < end:
        yield Unit(at, end)


def units(text: str, *, by_sentence: bool = True) -> list[Unit]:
    """Return the parts of a text in order; together they are the whole of it."""
    lines, found, at = _Lines(text), list[Unit](), 0
    while at < len(lines):
        start, line = lines.start[at], lines.text[at]
        end = next((e for block in _BLOCKS if (e := block(lines, at))), None)
        if end is not None:
            found.append(Unit(start, lines.start[end]))
        elif (end := _listed(lines, at)) is not None:
            found.append(Unit(start, lines.start[end], is_item=True))
        elif _is_row(line):
            end = at + 1
            found.append(Unit(start, lines.start[end], is_item=True))
        else:
            end = _paragraph(lines, at)
            whole = Unit(start, lines.start[end])
            found += _sentences(text, *whole[:2]) if by_sentence else [whole]
        at = end
    return found


# ── Taking out ───────────────────────────────────────────────────────────────
def _introduced(
    text: str, parts: Sequence[Unit], at: int, lists: dict[int, int]
) -> Iterator[int]:
    """Return the parts that a part ending with a colon introduces.

    ``lists`` are the ends of lists that went already, and from where on.
    """
    here = parts[at]
    if not _LEADS.search(text[here.start : here.end].rstrip()[-8:]):
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


def _touched(
    text: str, parts: Sequence[Unit], spans: Iterable[Span]
) -> dict[int, list[Span]]:
    """Return the parts to take out, by number, with the spans that lie in each."""
    starts, taken = [unit.start for unit in parts], dict[int, list[Span]]()
    for span in spans:
        at = max(bisect_right(starts, span.start) - 1, 0)
        while at < len(parts) and parts[at].start < span.end:
            taken.setdefault(at, []).append(span)
            at += 1
    waiting, lists = list(taken), dict[int, int]()
    while waiting:
        at = waiting.pop()
        for other in _introduced(text, parts, at, lists):
            if other not in taken:
                taken[other] = []
                waiting.append(other)
    return taken


def _trimmed(text: str, unit: Unit, spans: Sequence[Span]) -> tuple[int, int]:
    """Return a part without the blanks around it, unless a finding lies in them."""
    said = text[unit.start : unit.end]
    start = unit.start + len(said) - len(said.lstrip())
    end = unit.start + len(said.rstrip())
    for span in spans:
        start = min(start, max(span.start, unit.start))
        end = max(end, min(span.end, unit.end))
    return start, end


def _runs(
    text: str, parts: Sequence[Unit], taken: dict[int, list[Span]]
) -> Iterator[list[int]]:
    """Return parts that stand side by side together; blank lines do not part them."""
    run: list[int] = []
    for at in sorted(taken):
        between = range(run[-1] + 1, at) if run else ()
        if run and not all(_is_blank(text, parts[place]) for place in between):
            yield run
            run = []
        run.append(at)
    if run:
        yield run


def _beside(
    text: str, parts: Sequence[Unit], taken: dict[int, list[Span]]
) -> Iterator[tuple[int, int]]:
    """Return the parts that stay and are the nearest to one that goes."""
    stays = [
        at
        for at, unit in enumerate(parts)
        if at not in taken and not _is_blank(text, unit)
    ]
    near = set[int]()
    for at in taken:
        place = bisect_right(stays, at)
        near |= set(stays[max(place - 1, 0) : place + 1])
    for at in sorted(near):
        yield _trimmed(text, parts[at], ())


def _reasons(start: int, end: int, known: Iterable[Span]) -> list[str]:
    """Return the families of the findings that lie in a part that goes."""
    inside = {one.family for one in known if one.start < end and one.end > start}
    return sorted(inside) or [REVIEWED]


def take_out(
    text: str,
    spans: Sequence[Span],
    *,
    known: Sequence[Span] = (),
    by_sentence: bool = True,
) -> Cut:
    """Take out every part that a span touches; each run of parts leaves one mark.

    A mark names the families of what is ``known`` to lie there, without any of the
    spans themselves. Where no person looks at the rest, whole paragraphs go.
    """
    parts = units(text, by_sentence=by_sentence)
    taken = _touched(text, parts, spans)
    marks: list[Span] = []
    for run in _runs(text, parts, taken):
        edges = [_trimmed(text, parts[at], taken[at]) for at in run]
        start, end = min(edge[0] for edge in edges), max(edge[1] for edge in edges)
        reasons = _reasons(start, end, known or spans)
        marks += [Span(start, end, reason) for reason in reasons]
    beside = tuple(_beside(text, parts, taken))
    return Cut(redact(text, marks), tuple(marks), beside)

"""Words that were split up or run together: wrapped lines, empty tags, no blanks.

The text with whole words is scanned like any other; nothing is held for the splitting
alone.
"""

from __future__ import annotations

import re
from itertools import islice, pairwise
from operator import eq
from typing import TYPE_CHECKING

import re2

from memory.scanner import segment
from memory.scanner.char_ranges import UNSPACED
from memory.scanner.views import nearby

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.scanner.views import Piece, View

KIND = "split"
_EMPTY = re.compile(
    r"<(?P<tag>[a-z]{1,10})[^<>]{0,200}></(?P=tag)>|<!--[^<>]{0,200}-->|<wbr ?/?>"
)
_STYLES = r"[abisu]|em|strong|span|font|mark|small|big|su[bp]|code|del|ins"
_TAG = rf"</?(?:{_STYLES})\b[^<>]{{0,200}}>"
_INLINE = re.compile(rf"(?<=[a-z]){_TAG}|{_TAG}(?=[a-z])")
_CONCATENATED = re.compile(r"[\"']\s{0,4}\+\s{0,4}[\"']")
_BETWEEN = re.compile(r"(?<=[a-z0-9])[^\w\s'@/:=-]{1,4}(?=[a-z0-9])")
_EMPHASIS = re.compile(r"[*_~`]{1,3}(?=\w)|(?<=\w)[*_~`]{1,3}")
_HYPHENATED = re.compile(r"(?<=[a-z])-\n[ \t>#*/]{0,8}(?=[a-z])")
# What ends a sentence, a line or a cell: between single words it splits them.
_END = re.compile(
    r"\s{0,4}(?:[|.;!?\u0964\u3002\u061f\0\n]|={3,8}|-{3,8})(?:[^\w']{0,8}\n)?[^\w']{0,8}"
    r"(?:\d{1,4}[.)] )?"
)
# Of scripts without blanks one or two characters are a word, more of them a sentence.
_WORD = rf"[{UNSPACED}]{{1,2}}|(?:(?![{UNSPACED}])[^\W\d_]){{1,24}}"
_IS_UNSPACED = re.compile(f"[{UNSPACED}]")
# Atomic, or a run that ends too soon would be tried again in each of its ways.
_ONE_WORD = re.compile(
    rf"(?<!\w)(?>(?:{_WORD})(?:'[^\W\d_]{{1,9}})?{_END.pattern}){{5,200}}"
)
# A text in ASCII without this has none.
_MAY_BE_ONE_WORD = re2.compile(r"\b(?:[a-z']+\s*(?:[|.;!?\n\x00]|===|---)[^a-z_']*){5}")
# English has a blank every six letters or so.
_SPARSE, _STARS = 14, 2
_RUN = re.compile(r"[a-z]{10,300}")
_MOST_LETTERS, _COVERED, _LEAST_WORDS = 12000, 0.72, 4
_CLOSE, _MOST_BREAKS = 30, 600
_FEW_SPLITS, _LEAST_LINES, _SHORTEST, _LONGEST = 2, 3, 4, 60


def undo(view: View) -> Iterator[View]:
    """Views in which split words are whole again."""
    text = view.text
    if view.kind == KIND:
        return
    if "<" in text:
        yield from _without_tags(view)
    if "+" in text and ('"' in text or "'" in text):
        yield from _without(view, _CONCATENATED)
    if "-\n" in text:
        breaks = islice(_HYPHENATED.finditer(text), _MOST_BREAKS)
        parts = [("", *match.span()) for match in breaks]
        if parts:
            yield view.with_parts(parts, kind=KIND)
    if text.count("\n") >= _LEAST_LINES:
        yield from _unwrapped(view)
    if not text.isascii() or _MAY_BE_ONE_WORD.search(text):
        yield from _one_word_each(view)
    blanks = text.count(" ")
    if blanks * _SPARSE < len(text):
        views = [*_run_together(view)]
        yield from views or _without(view, _BETWEEN, " ")
    if text.count("**") + text.count("__") > max(blanks * _STARS // 2, _STARS):
        yield from _without(view, _EMPHASIS)


def _without_tags(view: View) -> Iterator[View]:
    text = view.text
    if "><" in text or "<!--" in text or "<wbr" in text:
        yield from _without(view, _EMPTY)
    if text.count("<") > _FEW_SPLITS:
        yield from _without(view, _INLINE)


def _without(view: View, pattern: re.Pattern[str], filler: str = "") -> Iterator[View]:
    """The text without what splits its words, where it does so several times."""
    spans = _dense([match.span() for match in pattern.finditer(view.text)])
    if spans:
        yield view.with_parts([(filler, *span) for span in spans], kind=KIND)


def _dense(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans that are close to several others, as inside split words."""
    dense = []
    # What stands between a span and the next one.
    gaps = [later[0] - earlier[1] for earlier, later in pairwise(spans)]
    for place, span in enumerate(spans):
        first, last = max(place - _FEW_SPLITS, 0), place + _FEW_SPLITS
        if any(
            sum(gaps[end - _FEW_SPLITS : end]) <= _CLOSE
            for end in range(first + _FEW_SPLITS, min(last, len(gaps)) + 1)
        ):
            dense.append(span)
    return dense


def _one_word_each(view: View) -> Iterator[View]:
    """The text with runs of sentences, lines or cells of one word each joined."""
    parts = [
        ("" if _IS_UNSPACED.match(view.text, end.start() - 1) else " ", *end.span())
        for match in _ONE_WORD.finditer(view.text)
        for end in _END.finditer(view.text, *match.span())
    ]
    if parts:
        yield view.with_parts(parts, kind=KIND)


def _unwrapped(view: View) -> Iterator[View]:
    """Lines of one and the same length that break inside words."""
    sizes = list(map(len, view.text.split("\n")))
    if sum(map(eq, sizes, sizes[1:])) < _FEW_SPLITS:
        return
    parts: list[Piece] = []
    run: list[int] = []
    place, before = 0, -1
    for size in sizes:
        if run and size != before:
            parts += _breaks(run, size, before)
            run = []
        place += size
        if _SHORTEST <= size <= _LONGEST:
            run.append(place)
        before = size
        place += 1
    if parts:
        yield view.with_parts(parts, kind=KIND)


def _breaks(run: list[int], size: int, before: int) -> list[Piece]:
    """The line breaks of a run; its last line may be shorter."""
    if len(run) < _LEAST_LINES:
        return []
    ends = run if 0 < size < before else run[:-1]
    return [("", end, end + 1) for end in ends]


def _run_together(view: View) -> Iterator[View]:
    """Sentences without blanks, their punctuation kept."""
    pieces: list[Piece] = []
    position = count = letters = 0
    for match in _RUN.finditer(view.text):
        start, end = match.span()
        letters += end - start
        if letters > _MOST_LETTERS:
            break
        words = segment.segment(match.group())
        if len(words) > 1 and segment.coverage(words) >= _COVERED:
            pieces.append((view.text[position:start] + " ", position, start))
            pieces.append((" ".join(words), start, end))
            position = end
            count += len(words)
    if count >= _LEAST_WORDS:
        pieces.append((view.text[position:], position, len(view.text)))
        yield view.derive(nearby(pieces, view.text), kind=KIND)

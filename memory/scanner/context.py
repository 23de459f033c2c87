"""How much a hit counts: a mention of an attack counts less than its use.

A quoted attack in documentation counts less than an order to the reader. Strings of
JSON and texts that are one single quotation get no discount.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import NamedTuple

import re2

_FENCE = re.compile(r"```.{0,4000}?```", re.DOTALL)
_QUOTES = re.compile(
    r"\"[^\"\n]{3,400}\"|“[^”\n]{3,400}”|„[^“”\n]{3,400}[“”]|«[^»\n]{3,400}»|"
    r"`[^`\n]{3,400}`|(?<![a-z0-9])'[^'\n]{3,400}'(?![a-z])|^[ \t]{0,8}>[^\n]{3,800}",
    re.MULTILINE,
)
_JSON_KEY = re.compile(r"\"[\w .-]{1,60}\"\s{0,3}:")
_CUES = re2.compile(
    rb"attack|injection|malicious|payload|jailbreak|adversar|poison|phrases?\b|"
    rb"for example|for instance|e\.g\.|such as|detects?\b|detector|flags\b|flagged|"
    rb"vulnerab|exploit|exfiltration|red.team|test case|owasp|social engineering|regex"
)
_CUE_BEFORE, _CUE_AFTER, _WHOLE_TEXT = 220, 120, 0.8
_PARAGRAPH, _DASHES, _KEY_CHARS, _LONGEST_LINK = "\n\n", 3, 70, 300
# Attributes that a reader of the page sees or a machine reads; any in a tag.
_ATTRIBUTE = re.compile(
    r"(?:<[a-z][^<>]{0,60}\s[\w:-]{1,24}|\b(?:alt|title|content|placeholder|label|value"
    r"|description|summary|caption|aria-[a-z]{1,20}|data-[a-z-]{1,20}))=\Z"
)
_MANY_CUES, _DENSE, _DENSE_PER = 2, 3, 1500
# Words joined by brackets and quotes are code, not a sentence.
_SYNTAX = re.compile(
    r"[a-z]\([a-z]|[a-z]\"\s?:|[a-z]\[[a-z]|[a-z_]\(\)|\"\s?,\s?\"|->|\s==?\s"
)
_QUOTED, _ANNOUNCED, _QUOTED_AND_ANNOUNCED = 0.75, 0.75, 0.4
# The factor of an order not to do it, of a question about how something is done, and
# of what somebody else is said to try.
NEGATION_FACTOR, QUESTION_FACTOR, REPORT_FACTOR = 0.2, 0.55, 0.5
TECHNICAL_FACTOR = 0.5


class Quotations(NamedTuple):
    """Where quotations and cues lie in one view; computed once, used for every hit."""

    text: str
    is_about_attacks: bool
    quotes: tuple[tuple[int, int], ...]
    fences: tuple[tuple[int, int], ...]
    cues: tuple[tuple[int, int], ...]

    def cues_near(self, start: int, end: int) -> int:
        """How many cues stand before and after a hit, in its own paragraph."""
        text = self.text
        first = max(0, start - _CUE_BEFORE)
        first = max(first, text.rfind(_PARAGRAPH, first, start) + 1)
        last = end + _CUE_AFTER
        paragraph_end = text.find(_PARAGRAPH, end, last)
        last = paragraph_end if paragraph_end >= 0 else last
        return self._cues(first, start) + self._cues(end, last)

    def _cues(self, first: int, last: int) -> int:
        begin = bisect_left(self.cues, first, key=_start)
        return max(bisect_right(self.cues, last, key=_end) - begin, 0)

    def holds(self, start: int, end: int) -> bool:
        """Whether a span lies in a quotation or in a block of code."""
        return _is_inside(self.quotes, start, end) or self.is_code(start, end)

    def is_code(self, start: int, end: int) -> bool:
        """Whether a span lies in a block of code."""
        return _is_inside(self.fences, start, end)


def _is_inside(spans: tuple[tuple[int, int], ...], start: int, end: int) -> bool:
    place = bisect_right(spans, start, key=_start) - 1
    return place >= 0 and end <= spans[place][1]


def _start(span: tuple[int, int]) -> int:
    return span[0]


def _end(span: tuple[int, int]) -> int:
    return span[1]


def survey(text: str) -> Quotations:
    """Return the quotations; none in JSON, nor when one covers the whole text."""
    fences = _spans(_FENCE, text) if "```" in text else ()
    # All of them are ASCII; the bytes are as many as the characters.
    plain = text.encode("ascii", "replace")
    cues = tuple(match.span() for match in _CUES.finditer(plain))
    if _JSON_KEY.search(text) and text.lstrip()[:1] in ("{", "["):
        return Quotations(text, is_about_attacks=False, quotes=(), fences=(), cues=cues)
    head_end = _front_matter_end(text)
    quotes = tuple(
        span for span in _spans(_QUOTES, text) if not _is_value(text, span[0], head_end)
    )
    size = len(text.strip())
    is_about_attacks = len(cues) > _DENSE * (1 + size // _DENSE_PER)
    if any(end - start >= _WHOLE_TEXT * size for start, end in (*quotes, *fences)):
        return Quotations(text, is_about_attacks, (), (), cues)
    return Quotations(text, is_about_attacks, quotes, fences, cues)


def _spans(pattern: re.Pattern[str], text: str) -> tuple[tuple[int, int], ...]:
    return tuple(match.span() for match in pattern.finditer(text))


def _front_matter_end(text: str) -> int:
    """Where the block of keys and values at the head of a page ends; 0 without one."""
    if not text.startswith("---\n"):
        return 0
    end = text.find("\n---", _DASHES)
    return end if end >= 0 else 0


def _is_value(text: str, start: int, head_end: int) -> bool:
    """Whether the quotes belong to the markup: a value, an attribute, a link title.

    Such a text is not somebody's words that the page repeats.
    """
    before = text[start - 1 : start]
    if before == "=":
        return _ATTRIBUTE.search(text, max(0, start - _KEY_CHARS), start) is not None
    place = text.rfind("](", max(0, start - _LONGEST_LINK), start)
    if place >= 0 and before.isspace() and len(text[place:start].split()) == 1:
        return True
    if start < head_end:
        return True
    return _JSON_KEY.search(text, max(0, start - _KEY_CHARS), start) is not None


def weigh(quotations: Quotations, start: int, end: int, *, is_phrase: bool) -> float:
    """The factor of a hit that is quoted or announced as a mention (an example)."""
    cues = quotations.cues_near(start, end)
    if quotations.holds(start, end):
        return _QUOTED_AND_ANNOUNCED if cues else _QUOTED
    if is_phrase and _SYNTAX.search(quotations.text[start:end]):
        return _QUOTED_AND_ANNOUNCED
    if cues >= _MANY_CUES:
        return _QUOTED_AND_ANNOUNCED
    return _ANNOUNCED if cues or quotations.is_about_attacks else 1.0

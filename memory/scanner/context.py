"""How much a hit counts: a mention of an attack counts less than its use.

A quoted attack in documentation counts less than an order to the reader. Strings of
JSON and texts that are one single quotation get no discount.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_FENCE = re.compile(r"```.{0,4000}?```", re.DOTALL)
_QUOTES = re.compile(
    r"\"[^\"\n]{3,400}\"|“[^”\n]{3,400}”|„[^“”\n]{3,400}[“”]|«[^»\n]{3,400}»|"
    r"`[^`\n]{3,400}`|(?<![a-z0-9])'[^'\n]{3,400}'(?![a-z])|^[ \t]{0,8}>[^\n]{3,800}",
    re.MULTILINE,
)
_JSON_KEY = re.compile(r"\"[\w .-]{1,60}\"\s{0,3}:")
_CUES = re.compile(
    r"attack|injection|malicious|payload|jailbreak|adversar|poison|phrases?\b|"
    r"for example|for instance|e\.g\.|such as|detects?\b|detector|flags\b|flagged|"
    r"vulnerab|exploit|exfiltration|red.team|test case|owasp|social engineering|regex"
)
_CUE_BEFORE, _CUE_AFTER, _WHOLE_TEXT = 220, 120, 0.8
_MANY_CUES, _DENSE, _DENSE_PER = 2, 3, 1500
# Words joined by brackets and quotes are code, not a sentence.
_SYNTAX = re.compile(
    r"[a-z]\([a-z]|[a-z]\"\s?:|[a-z]\[[a-z]|[a-z_]\(\)|\"\s?,\s?\"|->|\s==?\s"
)
_QUOTED, _ANNOUNCED, _QUOTED_AND_ANNOUNCED = 0.75, 0.75, 0.4
# The factor of an order not to do it, of a question about how something is done, and
# of what somebody else is said to try.
NEGATION_FACTOR, QUESTION_FACTOR, REPORT_FACTOR = 0.2, 0.55, 0.5


class Quotations(NamedTuple):
    """Where quotations lie in one view; computed once, used for every hit."""

    text: str
    is_about_attacks: bool
    quotes: tuple[tuple[int, int], ...]
    fences: tuple[tuple[int, int], ...]


def survey(text: str) -> Quotations:
    """Return the quotations; none in JSON, nor when one covers the whole text."""
    fences = _spans(_FENCE, text) if "```" in text else ()
    if _JSON_KEY.search(text) and text.lstrip()[:1] in ("{", "["):
        return Quotations(text, is_about_attacks=False, quotes=(), fences=())
    quotes = tuple(
        (start, end)
        for start, end in _spans(_QUOTES, text)
        if not _JSON_KEY.search(text[max(0, start - 70) : start])
    )
    size = len(text.strip())
    is_about_attacks = len(_CUES.findall(text)) > _DENSE * (1 + size // _DENSE_PER)
    if any(end - start >= _WHOLE_TEXT * size for start, end in (*quotes, *fences)):
        return Quotations(text, is_about_attacks, quotes=(), fences=())
    return Quotations(text, is_about_attacks, quotes, fences)


def _spans(pattern: re.Pattern[str], text: str) -> tuple[tuple[int, int], ...]:
    return tuple(match.span() for match in pattern.finditer(text))


def weigh(quotations: Quotations, start: int, end: int, *, is_phrase: bool) -> float:
    """The factor of a hit that is quoted or announced as a mention (an example)."""
    text = quotations.text
    before = text[max(0, start - _CUE_BEFORE) : start].rpartition("\n\n")[2]
    after = text[end : end + _CUE_AFTER].partition("\n\n")[0]
    cues = len(_CUES.findall(before)) + len(_CUES.findall(after))
    quoted = (*quotations.quotes, *quotations.fences)
    if any(first <= start and end <= last for first, last in quoted):
        return _QUOTED_AND_ANNOUNCED if cues else _QUOTED
    if is_phrase and _SYNTAX.search(text[start:end]):
        return _QUOTED_AND_ANNOUNCED
    if cues >= _MANY_CUES:
        return _QUOTED_AND_ANNOUNCED
    return _ANNOUNCED if cues or quotations.is_about_attacks else 1.0

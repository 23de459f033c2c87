"""Mention is not use: how much a hit counts where it stands.

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
_CUE_BEFORE, _CUE_AFTER, _WHOLE = 220, 120, 0.8
_MANY_CUES, _DENSE, _DENSE_PER = 2, 3, 1500
# Words joined by brackets and quotes are code, not a sentence.
_SYNTAX = re.compile(
    r"[a-z]\([a-z]|[a-z]\"\s?:|[a-z]\[[a-z]|[a-z_]\(\)|\"\s?,\s?\"|->|\s==?\s"
)
_QUOTED, _CUED, _BOTH, _NEGATED, _ASKED, _REPORTED = 0.75, 0.75, 0.4, 0.2, 0.55, 0.5


class Ground(NamedTuple):
    """Where quotations lie in one view; computed once, used for every hit."""

    text: str
    is_about_attacks: bool
    quotes: tuple[tuple[int, int], ...]
    fences: tuple[tuple[int, int], ...]


def survey(text: str) -> Ground:
    """Find quotations; none count in JSON or when one covers the whole text."""
    fences = _spans(_FENCE, text) if "```" in text else ()
    if _JSON_KEY.search(text) and text.lstrip()[:1] in ("{", "["):
        return Ground(text, is_about_attacks=False, quotes=(), fences=())
    quotes = tuple(
        span for span in _spans(_QUOTES, text) if not _is_json_value(text, span)
    )
    size = len(text.strip())
    whole = [end - start >= _WHOLE * size for start, end in (*quotes, *fences)]
    about = len(_CUES.findall(text)) > _DENSE * (1 + size // _DENSE_PER)
    return Ground(
        text, about, () if any(whole) else quotes, () if any(whole) else fences
    )


def _spans(pattern: re.Pattern[str], text: str) -> tuple[tuple[int, int], ...]:
    return tuple(match.span() for match in pattern.finditer(text))


def _is_json_value(text: str, span: tuple[int, int]) -> bool:
    return _JSON_KEY.search(text[max(0, span[0] - 70) : span[0]]) is not None


def _inside(spans: tuple[tuple[int, int], ...], start: int, end: int) -> bool:
    return any(first <= start and end <= last for first, last in spans)


def weigh(ground: Ground, start: int, end: int, *, is_phrase: bool) -> float:
    """The factor for quotation and for words that announce a mention."""
    text = ground.text
    before = text[max(0, start - _CUE_BEFORE) : start].rpartition("\n\n")[2]
    after = text[end : end + _CUE_AFTER].partition("\n\n")[0]
    cues = len(_CUES.findall(before)) + len(_CUES.findall(after))
    is_quoted = _inside(ground.quotes, start, end) or _inside(ground.fences, start, end)
    if is_quoted:
        return _BOTH if cues else _QUOTED
    if is_phrase and _SYNTAX.search(text[start:end]):
        return _BOTH
    if cues >= _MANY_CUES:
        return _BOTH
    return _CUED if cues or ground.is_about_attacks else 1.0


def negated() -> float:
    """The factor for an order not to do it."""
    return _NEGATED


def asked() -> float:
    """The factor for a question about how something is done."""
    return _ASKED


def reported() -> float:
    """The factor for what somebody else is said to try."""
    return _REPORTED

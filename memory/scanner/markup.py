"""Texts that markup carries: titles, descriptions of pictures, comments, front matter.

Each is read as a text of its own, so that a rule sees where its sentences begin.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memory.scanner import context
from memory.scanner.views import apart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.scanner.views import Piece, View

KIND = "markup"
_LEAST_WORDS = 4
# What must be in the text, and the texts that it announces.
_PATTERNS = (
    ('")', re.compile(r"\]\([^\s()]{1,300}\s{1,3}\"(.{12,600}?)\"\)")),
    ("![", re.compile(r"!\[([^\]\n]{12,400})\]\(")),
    (
        '="',
        re.compile(
            r"(?:alt|title|content|placeholder|label|summary|caption|description"
            r"|aria-[a-z]{1,20}|data-[a-z-]{1,20})=\"([^\"\n]{12,600})\""
        ),
    ),
    ("<!--", re.compile(r"<!--(.{12,1500}?)-->", re.DOTALL)),
)
_FRONT_MATTER = "---\n"
_VALUE = re.compile(
    r"^[\w-]{1,40}:[ \t]{1,4}([\"']?)(?P<value>[^\n]{12,800}?)\1[ \t]{0,4}$",
    re.MULTILINE,
)


def texts(view: View) -> Iterator[View]:
    """One view of all such texts of a few words and more."""
    text = view.text
    spans: list[tuple[int, int]] = []
    for sign, pattern in _PATTERNS:
        if sign in text:
            spans += [match.span(1) for match in pattern.finditer(text)]
    if text.startswith(_FRONT_MATTER):
        end = text.find("\n---", len(_FRONT_MATTER))
        spans += [
            match.span("value")
            for match in _VALUE.finditer(text, 0, end if end >= 0 else len(text))
        ]
    parts: list[Piece] = [
        (text[start:end].strip(), start, end)
        for start, end in sorted(spans)
        if text.count(" ", start, end) >= _LEAST_WORDS - 1
    ]
    if parts:
        quotations = context.survey(text.replace("\u0130", "i").lower())
        parts = [part for part in parts if not _is_mention(quotations, *part[1:])]
    if parts:
        yield view.derive(apart(parts), kind=KIND)


def _is_mention(quotations: context.Quotations, start: int, end: int) -> bool:
    """Whether the markup itself is shown, as in a page about attacks."""
    return (
        quotations.is_about_attacks
        or quotations.cues_near(start, end) > 0
        or quotations.is_code(start, end)
    )

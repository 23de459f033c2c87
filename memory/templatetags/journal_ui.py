"""Filters of memory's pages: text of agents, exact and never as markup; notes."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any, Final

from django import template
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

register = template.Library()

CAP_LINES: Final = 60
CAP_CHARS: Final = 6_000
INVISIBLE_CATEGORIES: Final = frozenset({"Cf", "Cc", "Cs", "Co"})
_TOKEN: Final = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?')
_NOTE: Final = re.compile(r"version (\d+) (restored|taken back)")
_PLAIN: Final = re.compile(r"^[\x20-\x7e\n]*$")


def _visible(character: str) -> str:
    """Return a character, or its escape when it is invisible."""
    if character != "\n" and unicodedata.category(character) in INVISIBLE_CATEGORIES:
        return json.dumps(character)[1:-1]
    return character


def pretty(value: Any) -> str:
    """Return a JSON value over several lines; invisible characters as escapes."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return text if _PLAIN.match(text) else "".join(map(_visible, text))


def _shortened(text: str) -> str:
    lines = text[:CAP_CHARS].split("\n")
    return "\n".join(lines[:CAP_LINES])


def _coloured(text: str) -> SafeString:
    """Return JSON text with its names and strings marked up; every part is escaped."""
    parts: list[str] = []
    at = 0
    for match in _TOKEN.finditer(text):
        parts.append(escape(text[at : match.start()]))
        kind = "name" if match[2] else "word"
        parts.append(format_html('<span class="{}">{}</span>', kind, match[1]))
        parts.append(escape(match[2] or ""))
        at = match.end()
    parts.append(escape(text[at:]))
    return mark_safe("".join(parts))  # noqa: S308  (each part was escaped above)


@register.simple_tag
def json_lines(value: Any, *, whole: bool = False) -> dict[str, Any]:
    """Return the marked-up text of a JSON value, and how much the cap left out."""
    text = pretty(value)
    visible = text if whole else _shortened(text)
    return {
        "text": _coloured(visible),
        "left": len(text) - len(visible),
        "lines": text.count("\n") - visible.count("\n"),
    }


@register.filter
def head(value: str, length: int = 8) -> str:
    """Return the first characters of a hash, with an ellipsis when there are more."""
    return value if len(value) <= length else f"{value[:length]}…"


@register.filter
def ends(value: str) -> str:
    """Return both ends of a hash: enough to compare two by eye."""
    return value if len(value) <= 16 else f"{value[:8]}…{value[-4:]}"


@register.filter
def breakable(value: str) -> SafeString:
    """Return a dotted name that may break after its dots and underscores."""
    parts = [(part,) for part in re.split(r"(?<=[._])", value)]
    return format_html_join(format_html("{}", mark_safe("<wbr>")), "{}", parts)


@register.filter
def version_note(note: str) -> str:
    """Return what a version's note says; the server's own are stored in English."""
    match = _NOTE.fullmatch(note)
    if match is None:
        return note
    words = {
        "restored": gettext("version {number} restored"),
        "taken back": gettext("version {number} taken back"),
    }
    return words[match[2]].format(number=match[1])

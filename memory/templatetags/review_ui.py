"""What the review pages show: text with its invisible characters, and bars of days."""

from __future__ import annotations

from collections.abc import Sequence

from django import template
from django.utils.formats import number_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from memory import figures
from memory.files import scanner_words
from memory.review import highlight

register = template.Library()


@register.filter
def scanner_word(value: str) -> str:
    """Return a word that the scanner stores as the reader calls it."""
    return scanner_words.word(value)


@register.filter
def translated(text: str) -> str:
    """Return a sentence of the scanner's tables in the reader's language."""
    return gettext(text) if text else ""


@register.filter
def signed(number: float) -> str:
    """Return a move of a threshold with its sign, in the reader's format."""
    text = number_format(abs(number), 2)
    return f"−{text}" if number < 0 else f"+{text}"


@register.filter
def unseen(text: str) -> SafeString:
    """Return a text, escaped, with every invisible character as a named box."""
    pieces = highlight.mark(str(text), []).pieces
    return format_html_join(
        "",
        "{}",
        (
            (
                format_html(
                    '<span class="unseen" title="{}">{}</span>',
                    piece.hidden,
                    piece.text,
                )
                if piece.hidden
                else piece.text,
            )
            for piece in pieces
        ),
    )


@register.simple_tag
def day_bars(days: Sequence[int], peak: int) -> SafeString:
    """Return a bar for each day, as high as its share of the busiest day."""
    bars = "".join(
        f"M{at * 4} 20v-{max(20 * count / peak, 2):.0f}h3V20z"
        for at, count in enumerate(days)
        if count
    )
    return format_html(
        '<svg class="day-bars" viewBox="0 0 {} 20" role="img" aria-label="{}">'
        '<path class="ground" d="M0 20H{}"/><path d="{}"/></svg>',
        4 * len(days),
        gettext("By day, at most {count} on one day").format(
            count=figures.decimal(max(days), 0)
        ),
        4 * len(days),
        bars,
    )

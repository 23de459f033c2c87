"""Text with its invisible characters made visible, for the review pages."""

from __future__ import annotations

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from memory.review import highlight

register = template.Library()


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

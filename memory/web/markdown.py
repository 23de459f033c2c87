"""Markdown as safe HTML: raw HTML is ignored, and tags pass an allow-list."""

from __future__ import annotations

from typing import Final

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

_TAGS: Final = frozenset(
    "h3 h4 h5 h6 p br hr ul ol li blockquote pre code em strong s a"
    " table thead tbody tr th td".split()
)
# The page has its own h1 and h2; a file's headings begin below them.
_DEEPER: Final = {"h1": "h3", "h2": "h4", "h3": "h5", "h4": "h6", "h5": "h6"}
_reader: Final = MarkdownIt("commonmark", {"html": False}).enable(
    ["table", "strikethrough"]
)


def render(text: str) -> SafeString:
    """Return a text as HTML; pictures are dropped, links leave no referrer."""
    tokens = _reader.parse(text)
    for token in tokens:
        token.tag = _DEEPER.get(token.tag, token.tag)
    raw = _reader.renderer.render(tokens, _reader.options, {})
    clean = nh3.clean(
        raw,
        tags=set(_TAGS),
        attributes={"a": {"href", "title"}, "ol": {"start"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    return mark_safe(clean)  # noqa: S308  (passed the allow-list)

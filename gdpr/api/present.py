"""What lists and rows of this API share: a page's query in, a page as JSON out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol

from gdpr.pagination import Page, PageQuery, Row
from memory.journal import append as journal

Answer = dict[str, Any]


class PagedQuery(Protocol):
    limit: int
    cursor: str | None


def page_query(query: PagedQuery) -> PageQuery:
    """Return which page a request is about."""
    return PageQuery(limit=query.limit, cursor=query.cursor)


def page_out(page: Page[Row], line: Callable[[Row], Answer]) -> Answer:
    """Return a page as JSON, each row as ``line`` writes it."""
    return {
        "items": [line(row) for row in page.items],
        "next_cursor": page.next_cursor,
    }


def stamp(moment: datetime | None) -> str | None:
    """Return a moment as JSON, null for none."""
    return journal.stamp(moment) if moment else None

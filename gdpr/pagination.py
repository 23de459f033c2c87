"""Pagination by cursor, over one list or several lists in a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

from django.db.models import Model, Q, QuerySet

from memory import pagination

Row = TypeVar("Row", bound=Model)
MAX_PAGE: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PageQuery:
    """Which page: its length, and the cursor after which it begins."""

    limit: int = MAX_PAGE
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """A page of rows and the cursor of the next one, None at the end."""

    items: list[Row]
    next_cursor: str | None


def page_of_lists(
    parts: Sequence[tuple[QuerySet[Row], str]],
    page_query: PageQuery,
    question: object,
    workspace_id: str,
) -> Page[Row]:
    """Return a page of several lists, one after the other.

    Each list comes with its date field, ``-`` before it for descending, and is ordered
    by that field and the primary key. No row may be in two lists. ``question`` are the
    filters: a cursor is valid for the same filters and workspace only.
    """
    digest = pagination.digest(["page", question])
    start, edge = 0, None
    rows_so_far: list[tuple[int, str, Row]] = []
    if page_query.cursor:
        number, at, last = pagination.read(page_query.cursor, workspace_id, digest)
        start, edge = int(number), (datetime.fromisoformat(str(at)), last)
    for number, (rows, by) in enumerate(parts):
        if number >= start and len(rows_so_far) <= page_query.limit:
            remaining = _after(rows, by, edge if number == start else None)
            batch = remaining[: page_query.limit + 1 - len(rows_so_far)]
            rows_so_far += [(number, by.lstrip("-"), row) for row in batch]
    items = [row for _, _, row in rows_so_far[: page_query.limit]]
    if len(rows_so_far) <= page_query.limit:
        return Page(items, None)
    number, name, row = rows_so_far[page_query.limit - 1]
    position: list[str | int] = [number, getattr(row, name).isoformat(), row.pk]
    return Page(items, pagination.make(workspace_id, digest, position))


def _after(
    rows: QuerySet[Row], by: str, edge: tuple[datetime, Any] | None
) -> QuerySet[Row]:
    name, sign = by.lstrip("-"), "-" if by.startswith("-") else ""
    if edge:
        way = "lt" if sign else "gt"
        beyond = Q(**{f"{name}__{way}": edge[0]})
        level = Q(**{name: edge[0], f"pk__{way}": edge[1]})
        rows = rows.filter(beyond | level)
    return rows.order_by(by, f"{sign}pk")


def newest(
    rows: QuerySet[Row],
    by: str,
    page_query: PageQuery,
    question: object,
    workspace_id: str,
) -> Page[Row]:
    """Return a page of one list, the newest first."""
    return page_of_lists([(rows, f"-{by}")], page_query, question, workspace_id)

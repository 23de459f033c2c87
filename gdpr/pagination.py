"""Lists without an end: one page in order, and where the next one begins."""

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
class Ask:
    """Which page is meant: how long, and after which cursor."""

    limit: int = MAX_PAGE
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """A page of rows and where the next one begins."""

    items: list[Row]
    next_cursor: str | None


def part(
    parts: Sequence[tuple[QuerySet[Row], str]],
    page_query: Ask,
    question: object,
    home: str,
) -> Page[Row]:
    """Return a page of several lists, one after the other.

    Each is ordered by a moment, backwards when a minus stands before it, then by its
    key; no row is in two of them.
    """
    digest = pagination.digest(["page", question])
    start, edge = 0, None
    rows_so_far: list[tuple[int, str, Row]] = []
    if page_query.cursor:
        number, at, last = pagination.read(page_query.cursor, home, digest)
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
    return Page(items, pagination.make(home, digest, position))


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
    rows: QuerySet[Row], by: str, page_query: Ask, question: object, home: str
) -> Page[Row]:
    """Return a page of one list, the newest first."""
    return part([(rows, f"-{by}")], page_query, question, home)

"""The calendar of a bundle: its months, and a page of sentences for each of them."""

from __future__ import annotations

import calendar
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import groupby
from typing import Any, Final

from django.template.loader import render_to_string
from django.utils import translation
from django.utils.dates import WEEKDAYS, WEEKDAYS_ABBR
from django.utils.formats import get_format
from django.utils.safestring import SafeString

from gdpr.export import layout
from gdpr.export.bundle import Collection
from gdpr.export.layout import MONTHS, Moment, Month, Part
from gdpr.export.readable import reading
from gdpr.export.readable.values import Wording

# Characters of a text that a line of the calendar quotes.
CHARS: Final = 140


@dataclass(frozen=True, slots=True)
class Cell:
    """A day of a month; ``day`` is None before its first and after its last day."""

    day: date | None
    count: int = 0
    href: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """A month as weeks of days."""

    first: date
    weeks: list[list[Cell]]
    count: int


@dataclass(frozen=True, slots=True)
class Line:
    """One moment of a day: its sentence, and where the whole row is."""

    at: datetime
    sentence: SafeString
    excerpt: str
    href: str
    title: str


def files(
    collection: Collection,
    months: Sequence[Month],
    parts: Mapping[str, list[Part]],
    wording: Wording,
    language: str,
) -> Iterator[tuple[str, str]]:
    """Yield the pages of the calendar and of its months."""
    with translation.override(language):
        yield from _overview(collection, months, wording)
        for number, month in enumerate(months):
            neighbours = (
                months[number - 1] if number else None,
                months[number + 1] if number + 1 < len(months) else None,
            )
            yield from _month(collection, month, neighbours, parts, wording)


# ── The overview ─────────────────────────────────────────────────────────────
def _overview(
    collection: Collection, months: Sequence[Month], wording: Wording
) -> Iterator[tuple[str, str]]:
    count = max(1, -(-len(months) // MONTHS))
    names = [f"calendar{f'-{n}' if n > 1 else ''}.html" for n in range(1, count + 1)]
    for number, name in enumerate(names):
        page_months = months[number * MONTHS : (number + 1) * MONTHS]
        context = {
            "collection": collection,
            "names": names,
            "name": name,
            "years": [
                (year, [grid(month) for month in rows])
                for year, rows in groupby(
                    page_months, key=lambda month: month.first.year
                )
            ],
            "weekdays": weekdays(),
            "undated": layout.undated(collection, wording),
        }
        yield name, render_to_string("gdpr/bundle/calendar.html", context)


def weekdays() -> list[tuple[Any, Any]]:
    """Return short and full names of the days in the order of the language's weeks."""
    first = int(get_format("FIRST_DAY_OF_WEEK"))
    # Django's formats begin weeks on Sunday, as 0; Python counts from Monday.
    order = [(first - 1 + number) % 7 for number in range(7)]
    return [(WEEKDAYS_ABBR[number], WEEKDAYS[number]) for number in order]


def grid(month: Month, prefix: str = "") -> Grid:
    """Return a month as weeks, each day with its count and its address."""
    first_weekday = (int(get_format("FIRST_DAY_OF_WEEK")) - 1) % 7
    counts, first = month.counts, month.first
    weeks = calendar.Calendar(first_weekday).monthdayscalendar(first.year, first.month)
    cells = [
        [
            Cell(
                first.replace(day=number) if number else None,
                counts.get(number, 0),
                prefix + month.address(number) if number in counts else "",
            )
            for number in week
        ]
        for week in weeks
    ]
    return Grid(first, cells, len(month.moments))


# ── A month ──────────────────────────────────────────────────────────────────
def _month(
    collection: Collection,
    month: Month,
    neighbours: tuple[Month | None, Month | None],
    parts: Mapping[str, list[Part]],
    wording: Wording,
) -> Iterator[tuple[str, str]]:
    names = [name for name, _ in month.pages]
    for number, (name, moments) in enumerate(month.pages):
        days = [
            (rows[0].at, layout.anchor(day), rows)
            for day, rows in (
                (day, [_line(collection, row, parts, wording) for row in rows])
                for day, rows in groupby(moments, key=lambda moment: moment.at.day)
            )
        ]
        context = {
            "collection": collection,
            "grid": grid(month, "../") if number == 0 else None,
            "first": month.first,
            "days": days,
            "names": names,
            "name": name,
            "before": neighbours[0].pages[0][0] if neighbours[0] else "",
            "after": neighbours[1].pages[0][0] if neighbours[1] else "",
            "weekdays": weekdays(),
        }
        yield name, render_to_string("gdpr/bundle/days.html", context)


def _line(
    collection: Collection,
    moment: Moment,
    parts: Mapping[str, list[Part]],
    wording: Wording,
) -> Line:
    place = collection.places[moment.place]
    row = place.rows[moment.row]
    part = layout.page_of(parts[place.name], moment.row)
    return Line(
        at=moment.at,
        sentence=reading.line(row, moment.stamp, wording),
        excerpt=reading.excerpt(row, CHARS),
        href=f"../{part.name}#row-{moment.row + 1}",
        title=place.title,
    )

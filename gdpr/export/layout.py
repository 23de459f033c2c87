"""Which rows stand on which page of a bundle, and which moments in which month."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import groupby, pairwise
from typing import Any, Final

from gdpr.export.bundle import Collection, Place
from gdpr.export.readable import reading
from gdpr.export.readable.values import Wording

# Rows of a page, and characters that it may have about: a longer text stands alone.
ROWS: Final = 100
CHARS: Final = 150_000
# The markup around a row and around each of its values.
ROW_CHARS: Final = 700
VALUE_CHARS: Final = 70
# Lines of a page of a month, and months of a page of the calendar.
LINES: Final = 250
MONTHS: Final = 24


@dataclass(frozen=True, slots=True)
class Part:
    """One page of a place: its rows from ``start`` up to ``stop``."""

    name: str
    number: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """When a row was noted, in the reader's time zone."""

    at: datetime
    place: int
    row: int
    stamp: str

    @property
    def month(self) -> tuple[int, int]:
        return self.at.year, self.at.month


@dataclass(frozen=True, slots=True)
class Month:
    """The moments of a month in order; ``counts`` is day → how many."""

    first: date
    moments: Sequence[Moment]

    @property
    def counts(self) -> dict[int, int]:
        days = groupby(self.moments, key=lambda moment: moment.at.day)
        return {number: sum(1 for _ in rows) for number, rows in days}

    @property
    def pages(self) -> list[tuple[str, Sequence[Moment]]]:
        """The file names of its pages, each with its moments."""
        parts = range(0, len(self.moments), LINES)
        return [
            (self._name(number), self.moments[start : start + LINES])
            for number, start in enumerate(parts, 1)
        ]

    def _name(self, number: int) -> str:
        end = f"-{number}" if number > 1 else ""
        return f"days/{self.first:%Y-%m}{end}.html"

    def address(self, day: int) -> str:
        """Return the page and anchor where a day begins."""
        for name, moments in self.pages:
            if any(moment.at.day == day for moment in moments):
                return f"{name}#{anchor(day)}"
        return self.pages[0][0]


def anchor(day: int) -> str:
    return f"day-{day:02}"


# ── Places ───────────────────────────────────────────────────────────────────
def _weight(value: Any) -> int:
    """Return about how many characters a value takes on a page."""
    queue, weight = [value], 0
    while queue:
        item = queue.pop()
        if isinstance(item, dict):
            queue.extend(item.values())
        elif isinstance(item, (list, tuple)):
            queue.extend(item)
        else:
            size = len(item.encode()) if isinstance(item, str) else 8
            weight += VALUE_CHARS + size
    return weight


def parts(place: Place) -> list[Part]:
    """Return the pages of a place: none where nothing was found."""
    ends, size = list[int](), 0
    for index, row in enumerate(place.rows):
        weight = ROW_CHARS + _weight(row)
        start = ends[-1] if ends else 0
        if index > start and (size + weight > CHARS or index - start >= ROWS):
            ends.append(index)
            size = 0
        size += weight
    bounds = [0, *ends, len(place.rows)] if place.rows else []
    return [
        Part(f"places/{place.name}-{number:03}.html", number, start, stop)
        for number, (start, stop) in enumerate(pairwise(bounds), start=1)
    ]


def page_of(place_parts: Sequence[Part], row: int) -> Part:
    """Return the page that has a row."""
    return next(part for part in place_parts if row < part.stop)


# ── Days ─────────────────────────────────────────────────────────────────────
def _moments(collection: Collection, wording: Wording) -> Iterator[Moment]:
    for place_number, place in enumerate(collection.places):
        for row_number, row in enumerate(place.rows):
            for stamp in reading.moments(row):
                local = wording.local(stamp)
                if local is not None:
                    yield Moment(local, place_number, row_number, stamp)


def months(collection: Collection, wording: Wording) -> list[Month]:
    """Return the months in which something was noted, the earliest first."""
    moments = sorted(_moments(collection, wording))
    return [
        Month(date(year, number, 1), tuple(rows))
        for (year, number), rows in groupby(moments, key=lambda moment: moment.month)
    ]


def undated(collection: Collection, wording: Wording) -> int:
    """Return how many rows have no day."""
    rows: Iterable[Any] = (row for place in collection.places for row in place.rows)
    return sum(
        not any(wording.local(stamp) for stamp in reading.moments(row)) for row in rows
    )

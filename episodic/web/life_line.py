"""The drawing of an entry's life: a curve over time, and numbered marks below it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.utils.formats import date_format
from django.utils.translation import pgettext

from episodic.recall.life import Event, Life

WIDTH: Final = 560
# The curve's area, from importance 1 down to 0.
TOP, FLOOR = 10, 90
# Marks that would touch each other stand in rows below the axis.
MARK_TOP: Final = 106
MARK_STEP: Final = 20
MARK_WIDTH: Final = 18
ROWS_MOST: Final = 6
# A date farther away than the curve reaches is told in the list and not drawn.
FUTURE: Final = timedelta(days=366)


@dataclass(frozen=True, slots=True)
class Mark:
    """An event with its number; ``x`` is None when it lies beyond the drawing."""

    number: int
    event: Event
    x: int | None
    y: int

    @property
    def base(self) -> int:
        """The base line of the number."""
        return self.y + 4


@dataclass(frozen=True, slots=True)
class Drawing:
    marks: list[Mark]
    curve: str
    ticks: list[int]
    now_x: int
    now_y: float | None
    start: datetime
    end: datetime
    top: int
    height: int

    @property
    def first_day(self) -> str:
        return _day(self.start)

    @property
    def last_day(self) -> str:
        return _day(self.end)


def _day(moment: datetime) -> str:
    return date_format(moment, pgettext("date", "j M Y"))


def draw(life: Life) -> Drawing:
    """Return where everything stands between the first event and the curve's end."""
    start = min(event.at for event in life.events)
    latest = [event.at for event in life.events if event.at <= life.now + FUTURE]
    end = max([life.now, *latest, *(point.at for point in life.curve[-1:])])
    span = max((end - start).total_seconds(), 1.0)

    def x(at: datetime) -> int:
        share = (at - start).total_seconds() / span
        return round(MARK_WIDTH / 2 + share * (WIDTH - MARK_WIDTH))

    marks: list[Mark] = []
    row_ends: list[int] = []
    for number, event in enumerate(life.events, 1):
        at = x(event.at) if event.at <= end else None
        row = _row(at, row_ends) if at is not None else 0
        marks.append(Mark(number, event, at, MARK_TOP + row * MARK_STEP))
    points = [f"{x(point.at)} {_y(point.value)}" for point in life.curve]
    value = life.weight.parts.value if life.weight.parts and life.curve else None
    top = 0 if points else FLOOR - MARK_STEP
    return Drawing(
        marks=marks,
        curve=f"M{'L'.join(points)}" if points else "",
        ticks=sorted({x(at) for at in life.logged if start <= at <= end}),
        now_x=x(life.now),
        now_y=_y(value) if value is not None else None,
        start=start,
        end=end,
        top=top,
        height=MARK_TOP + len(row_ends) * MARK_STEP - top,
    )


def _y(value: float) -> float:
    return round(FLOOR - value * (FLOOR - TOP), 1)


def _row(x: int, row_ends: list[int]) -> int:
    """Return the first row with room at a place, and take the place there."""
    for row, row_end in enumerate(row_ends):
        if x - row_end >= MARK_WIDTH:
            row_ends[row] = x
            return row
    if len(row_ends) < ROWS_MOST:
        row_ends.append(x)
    return len(row_ends) - 1

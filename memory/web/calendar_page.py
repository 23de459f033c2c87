"""The calendar of activity as it is drawn: columns of weeks, and its key."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from django.utils.dates import WEEKDAYS_ABBR

from memory.journal.calendar import WRITERS, Calendar, Day
from memory.models import Agent
from memory.web import pages

CELL: Final = 12
# The rows of days begin below the names of the months.
TOP: Final = 16
# A month's name is as wide as so many weeks.
NAME_WEEKS: Final = 3


@dataclass(frozen=True, slots=True)
class Square:
    """A day, where it is drawn, and the journal of that day, "" without an entry."""

    day: Day
    y: int
    href: str


@dataclass(frozen=True, slots=True)
class Week:
    """A column; ``month`` is the first day of the month that is named above it."""

    x: int
    month: date | None
    squares: list[Square]

    @property
    def entries(self) -> int:
        return sum(square.day.entries for square in self.squares)

    @property
    def monday(self) -> date:
        first = self.squares[0].day.date
        return first - timedelta(days=first.weekday())

    @property
    def row(self) -> list[Square | None]:
        """A square for each weekday, None for a day outside of the calendar."""
        by_weekday = {square.day.date.weekday(): square for square in self.squares}
        return [by_weekday.get(weekday) for weekday in range(7)]


@dataclass(frozen=True, slots=True)
class Step:
    """A colour of the key: from how many entries, and to how many, None for more."""

    number: int
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class CalendarPage:
    """Everything on the page; ``journal`` is the list of all entries it counts."""

    calendar: Calendar
    weeks: list[Week]
    key: list[Step]
    journal: str

    @property
    def width(self) -> int:
        return CELL * len(self.weeks)

    @property
    def height(self) -> int:
        return TOP + 7 * CELL

    @property
    def weekdays(self) -> list[tuple[str, int]]:
        """The names of the rows, with the base line of each."""
        return [(str(WEEKDAYS_ABBR[n]), TOP + n * CELL + 9) for n in range(7)]

    @property
    def busiest_href(self) -> str:
        """The journal of the busiest day, "" without an entry."""
        busiest = self.calendar.busiest
        squares = (square for week in self.weeks for square in week.squares)
        return next((s.href for s in squares if s.day == busiest), "")

    @property
    def is_of_agent(self) -> bool:
        """Whether it is the calendar of an agent, not of a crew."""
        return isinstance(self.calendar.owner, Agent)


def build(calendar: Calendar) -> CalendarPage:
    """Return what the page draws."""
    owner = calendar.owner
    name = "agent_id" if isinstance(owner, Agent) else "crew_id"
    query = {name: owner.pk, "actor_type": ",".join(WRITERS)}
    firsts = [_first_of_month(days) for days in calendar.weeks]
    if not any(firsts[:NAME_WEEKS]):
        firsts[0] = calendar.first
    weeks = [
        Week(number * CELL, month, [_square(day, query) for day in days])
        for number, (month, days) in enumerate(zip(firsts, calendar.weeks, strict=True))
    ]
    ends = [*calendar.limits, None] if calendar.days else []
    key = [
        Step(number, 1 + (calendar.limits[number - 2] if number > 1 else 0), end)
        for number, end in enumerate(ends, 1)
    ]
    return CalendarPage(calendar, weeks, key, pages.address("memory:journal", **query))


def _first_of_month(days: list[Day]) -> date | None:
    return next((day.date for day in days if day.date.day == 1), None)


def _square(day: Day, query: dict[str, str]) -> Square:
    text = day.date.isoformat()
    href = pages.address("memory:journal", **query, since=text, until=text)
    y = TOP + CELL * day.date.weekday()
    return Square(day, y, href if day.entries else "")

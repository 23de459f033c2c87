"""Months and periods of days, in the calendar of a workspace."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from memory.rules import errors
from memory.rules.translation import gettext

_MONTH: Final = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])")
EARLIEST: Final = date(1970, 1, 1)
LATEST: Final = date(9999, 1, 1)
# Ten years, and the days of three leap years.
MOST_DAYS: Final = 3_653


@dataclass(frozen=True, slots=True)
class Period:
    """Days, both ends included, and the moments between which they lie.

    ``start`` is the first moment of the first day, ``end`` the first one after the
    last day.
    """

    first: date
    last: date
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True, order=True)
class Month:
    """A calendar month, such as 2026-11."""

    year: int
    number: int

    def __str__(self) -> str:
        return f"{self.year:04}-{self.number:02}"

    @property
    def first(self) -> date:
        return date(self.year, self.number, 1)

    @property
    def next(self) -> Month:
        return self._moved(1)

    @property
    def previous(self) -> Month:
        return self._moved(-1)

    def _moved(self, months: int) -> Month:
        year, index = divmod(self.year * 12 + self.number - 1 + months, 12)
        return Month(year, index + 1)

    def period(self, zone: ZoneInfo) -> Period:
        return period(self.first, self.next.first - timedelta(days=1), zone)


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    """Return the beginning of a day in a zone, in UTC."""
    return datetime.combine(day, time(), zone).astimezone(UTC)


def period(first: date, last: date, zone: ZoneInfo) -> Period:
    """Return the days from ``first`` to ``last``; Invalid ``bad_period``."""
    is_ordered = EARLIEST <= first <= last < LATEST
    if not is_ordered or (last - first).days >= MOST_DAYS:
        detail = gettext("A period begins before it ends, and has at most ten years.")
        raise errors.Invalid(detail, code="bad_period")
    end = _midnight(last + timedelta(days=1), zone)
    return Period(first, last, _midnight(first, zone), end)


def this_month(now: datetime, zone: ZoneInfo) -> Month:
    today = now.astimezone(zone).date()
    return Month(today.year, today.month)


def month(text: str, now: datetime, zone: ZoneInfo) -> Month:
    """Return the month of a text like 2026-11, the present one of an empty text.

    Invalid ``bad_month`` for another text, a month to come, or one before 1970.
    """
    present = this_month(now, zone)
    if not text:
        return present
    match = _MONTH.fullmatch(text)
    selected_month = Month(int(match[1]), int(match[2])) if match else None
    if (
        selected_month is None
        or not EARLIEST.year < selected_month.year
        or selected_month > present
    ):
        detail = gettext("A month is written like 2026-11, and not one to come.")
        raise errors.Invalid(detail, code="bad_month")
    return selected_month

"""Spans of time in UTC: calendar days, weeks, months, quarters and years.

A span is half open, ``[since, until)``. A week begins on Monday. Arithmetic beyond the
calendar raises OverflowError or ValueError, as ``datetime`` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Final

from memory.rules.translation import gettext, gettext_noop

ONE_DAY = timedelta(days=1)
MONTHS: Final = (
    gettext_noop("January"),
    gettext_noop("February"),
    gettext_noop("March"),
    gettext_noop("April"),
    gettext_noop("May"),
    gettext_noop("June"),
    gettext_noop("July"),
    gettext_noop("August"),
    gettext_noop("September"),
    gettext_noop("October"),
    gettext_noop("November"),
    gettext_noop("December"),
)
WEEKDAYS: Final = (
    gettext_noop("Monday"),
    gettext_noop("Tuesday"),
    gettext_noop("Wednesday"),
    gettext_noop("Thursday"),
    gettext_noop("Friday"),
    gettext_noop("Saturday"),
    gettext_noop("Sunday"),
)


class Kind(StrEnum):
    """What a span is: how it is put into words depends on it."""

    DAY = "day"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"
    RANGE = "range"
    RECENT = "recent"


@dataclass(frozen=True, slots=True)
class Span:
    """One stretch of time; ``dated`` when its year was given or follows from now."""

    since: datetime
    until: datetime
    kind: Kind = Kind.RANGE
    dated: bool = True


def midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def days(first: date, count: int, kind: Kind = Kind.RANGE) -> Span:
    return Span(midnight(first), midnight(first + count * ONE_DAY), kind)


def day(number: date) -> Span:
    return days(number, 1, Kind.DAY)


def week(any_day: date, back: int = 0) -> Span:
    """Return the week of a day, or the one so many weeks before."""
    return days(any_day - timedelta(days=any_day.weekday() + 7 * back), 7)


def month_before(year: int, month: int, back: int) -> date:
    """Return the first day of the month so many months before another."""
    years, index = divmod(year * 12 + month - 1 - back, 12)
    return date(years, index + 1, 1)


def months(first: date, count: int, kind: Kind) -> Span:
    """Return so many whole months."""
    end = month_before(first.year, first.month, -count)
    return Span(midnight(first), midnight(end), kind)


def month(year: int, number: int) -> Span:
    return months(date(year, number, 1), 1, Kind.MONTH)


def quarter(year: int, number: int) -> Span:
    return months(date(year, 3 * number - 2, 1), 3, Kind.QUARTER)


def year(number: int) -> Span:
    return months(date(number, 1, 1), 12, Kind.YEAR)


def _month(moment: datetime) -> str:
    return gettext(MONTHS[moment.month - 1])


def _date(moment: datetime) -> str:
    return gettext("{day} {month} {year}").format(
        day=moment.day, month=_month(moment), year=moment.year
    )


def _moment(moment: datetime) -> str:
    clock = "" if moment.time() == time() else f", {moment:%H:%M} UTC"
    return _date(moment) + clock


def _from_to(first: str, last: str) -> str:
    return gettext("{first} to {last}").format(first=first, last=last)


def in_words(since: datetime | None, until: datetime | None, kind: Kind) -> str:
    """Return a span as people write it: "May 2024", "since 15 November 2024"."""
    if since is None:
        if until is None:
            return gettext("any time")
        return gettext("before {time}").format(time=_moment(until))
    if until is None:
        return gettext("since {time}").format(time=_moment(since))
    if kind is Kind.DAY:
        weekday = gettext(WEEKDAYS[since.weekday()])
        return gettext("{weekday} {date}").format(weekday=weekday, date=_date(since))
    if kind is Kind.MONTH:
        return f"{_month(since)} {since.year}"
    if kind is Kind.QUARTER:
        return f"Q{since.month // 3 + 1} {since.year}"
    if kind is Kind.YEAR:
        return str(since.year)
    if until - since > 2 * ONE_DAY or since.time() == until.time() == time():
        last = until if until.time() != time() else until - ONE_DAY
        return _from_to(_date(since), _date(last))
    return _from_to(_moment(since), _moment(until))

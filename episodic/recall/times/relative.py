"""Rules for what is seen from now: yesterday, last Friday, three weeks ago."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Final

from episodic.recall.times import dates, spans, words
from episodic.recall.times.reader import Reader, Reading, first
from episodic.recall.times.spans import ONE_DAY, Span

_FEW: Final = 3
_LENGTHS: Final = {
    words.MINUTE: timedelta(minutes=1),
    words.HOUR: timedelta(hours=1),
    words.DAY: ONE_DAY,
    words.WEEK: 7 * ONE_DAY,
    words.MONTH: 30 * ONE_DAY,
    words.QUARTER: 91 * ONE_DAY,
    words.YEAR: 365 * ONE_DAY,
}


def day_back(reader: Reader, i: int, _: datetime) -> Reading | None:
    """Return "today", "yesterday evening", "the day before yesterday"."""
    word, j = reader.word(i), i + 1
    days_back = words.DAYS_BACK.get(word)
    if word in words.UNITS and reader.word(j) == "before":
        if reader.word(j + 1) == "last":
            span = _calendar(words.UNITS[word], reader.now.date(), 2)
            return (j + 2, span) if span else None
        days_back = 2 if (word, reader.word(j + 1)) == ("day", "yesterday") else None
        j += 2
    if days_back is None:
        return None
    if reader.word(j) in words.PARTS_OF_DAY and not reader.token(j - 1).closes:
        j += 1
    return j, spans.day(reader.now.date() - days_back * ONE_DAY)


def last(reader: Reader, i: int, at: datetime) -> Reading | None:
    """Return "last Friday", "this week", "vorletzten Monat", "last May"."""
    word = reader.word(i)
    if word in words.THIS:
        back = 0
    elif word in words.LAST:
        back = 1
    elif word in words.BEFORE_LAST:
        back = 2
    else:
        return None
    j, unit = i + 1, words.UNITS.get(reader.word(i + 1))
    name = reader.word(j)
    if name in words.PARTS_OF_DAY:
        return _part_of_day(reader, j, back)
    if name in words.WEEKENDS:
        saturday = spans.week(reader.now.date(), back).since.date() + 5 * ONE_DAY
        return j + 1, spans.days(saturday, 2)
    if unit is None:
        return _last_name(reader, j, back, at)
    if back and reader.word(j + 1) == "of":
        return None  # "the last week of May": the month is read
    if back and (name in words.PLURALS or _is_rolling(reader, i)):
        count = _FEW if name in words.PLURALS else 1
        return _rolling_span(reader, j + 1, count, unit)
    if reader.word(j + 1) == "before" and reader.word(j + 2) == "last":
        j, back = j + 2, 2
    span = _calendar(unit, reader.now.date(), back)
    return (j + 1, span) if span else None


def _is_rolling(reader: Reader, i: int) -> bool:
    """Whether "the last week" at a token means the seven days until now."""
    if reader.word(i) == "past":
        return True
    return reader.word(i - 1) == "the" and reader.word(i - 2) in (
        "in", "over", "during", "within", "for",
    )  # fmt: skip


def _part_of_day(reader: Reader, j: int, back: int) -> Reading | None:
    today = spans.midnight(reader.now.date())
    if back == 0:
        return j + 1, spans.day(today.date())
    if reader.word(j) in ("night", "nacht"):
        return j + 1, Span(today - timedelta(hours=6), today + timedelta(hours=6))
    return j + 1, spans.day((today - back * ONE_DAY).date())


def _last_name(reader: Reader, j: int, back: int, at: datetime) -> Reading | None:
    """Return the weekday or month behind "last" or "this"."""
    token, today = reader.token(j), reader.now.date()
    weekday = words.WEEKDAYS.get(token.word)
    if weekday is None and token.is_capital:
        weekday = words.SHORT_WEEKDAYS.get(token.word)
    if weekday is not None:
        if back == 0:
            monday = spans.week(today).since.date()
            return j + 1, spans.day(monday + (weekday - 1) * ONE_DAY)
        days_back = (today.isoweekday() - weekday) % 7 or 7
        return j + 1, spans.day(today - (days_back + 7 * (back - 1)) * ONE_DAY)
    number = words.MONTHS.get(token.word)
    if number is None or len(token.word) == 2:
        return None
    if back == 0:
        return j + 1, spans.month(today.year, number)
    latest = dates.latest_month(number, at)
    years_back = back if latest.until > reader.now else back - 1
    return j + 1, spans.month(latest.since.year - years_back, number)


def rolling(reader: Reader, i: int, _: datetime) -> Reading | None:
    """Return "the last 10 days", "den letzten zwei Wochen"."""
    if reader.word(i) not in words.LAST:
        return None
    amount = reader.amount(i + 1)
    return _rolling_span(reader, *amount) if amount else None


def _rolling_span(reader: Reader, behind: int, count: int, unit: str) -> Reading | None:
    return behind, Span(reader.now - count * _LENGTHS[unit], reader.now)


def ago(reader: Reader, i: int, _: datetime) -> Reading | None:
    """Return "two weeks ago", "vor 3 Tagen"."""
    is_german = reader.word(i) == "vor"
    amount = reader.amount(i + 1 if is_german else i)
    if amount is None or reader.word(i - 1) == "half":
        return None
    behind, count, unit = amount
    if not is_german:
        if reader.word(behind) != "ago":
            return None
        behind += 1
    moment = reader.now - count * _LENGTHS[unit]
    if unit == words.MINUTE:
        return behind, Span(moment - (reader.now - moment), reader.now)
    if unit == words.HOUR:
        half = timedelta(minutes=30)
        return behind, Span(moment - half, moment + half)
    if unit == words.WEEK:
        return behind, spans.days(moment.date() - 3 * ONE_DAY, 7)
    if unit == words.YEAR:
        return behind, spans.days(moment.date() - 45 * ONE_DAY, 91)
    span = _calendar(unit, reader.now.date(), count)
    return (behind, span) if span else None


def weekday(reader: Reader, i: int, at: datetime) -> Reading | None:
    """Return "on Friday", "Friday morning", and "Friday" at the end of a clause."""
    weekday = words.WEEKDAYS.get(reader.word(i))
    if weekday is None:
        return None
    if date_behind := first(reader, dates.DAYS, i + 1, at):
        return date_behind
    token, j = reader.token(i), i + 1
    has_part = reader.word(j) in words.PARTS_OF_DAY and not token.closes
    if not (reader.lead(i) or token.closes or has_part):
        return None
    days_back = (at.isoweekday() - weekday) % 7
    span = spans.day(at.date() - days_back * ONE_DAY)
    return j + has_part, dates.undated(span)


def _calendar(unit: str, today: date, back: int) -> Span | None:
    """Return the calendar's unit so many units before today's; None below a day."""
    if unit == words.DAY:
        return spans.day(today - back * ONE_DAY)
    if unit == words.WEEK:
        return spans.week(today, back)
    if unit == words.MONTH:
        first = spans.month_before(today.year, today.month, back)
        return spans.month(first.year, first.month)
    if unit == words.QUARTER:
        first = spans.month_before(today.year, today.month, 3 * back)
        return spans.quarter(first.year, (first.month + 2) // 3)
    if unit == words.YEAR:
        return spans.year(today.year - back)
    return None

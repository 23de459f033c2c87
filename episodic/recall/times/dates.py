"""Rules for what the calendar names: dates, months, quarters and years.

A rule takes the index of a token and a moment ``at``: of an expression without a year,
the latest occurrence that is not after ``at`` is meant. It raises ValueError or
OverflowError for what no calendar has.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Final

from episodic.recall.times import spans, words
from episodic.recall.times.reader import Reader, Reading, Rule
from episodic.recall.times.spans import Span

_FIRST_YEAR: Final = 1970


def numeric(reader: Reader, i: int, at: datetime) -> Reading | None:
    """Return a date in figures: 2023-05-08, 8.5.2023, 8/5/2023, 05/2023."""
    token = reader.token(i)
    if not token.word[:1].isdigit():
        return None
    if match := words.ISO_DATE.match(token.word):
        return i + 1, _day(int(match[1]), int(match[3]), int(match[4]))
    if match := words.ISO_MONTH.match(token.word):
        return i + 1, _month(int(match[1]), int(match[2]))
    if match := words.SLASHED.match(token.word):
        first, second, year = (int(group) for group in match.groups())
        month, day = (first, second) if first <= 12 else (second, first)
        return i + 1, _day(year, month, day)
    if match := words.MONTH_YEAR.match(token.word):
        if "/" in token.word or reader.lead(i):
            return i + 1, _month(int(match[2]), int(match[1]))
    if match := words.DOTTED.match(token.word):
        return _dotted(reader, i, match, at)
    return None


def _dotted(
    reader: Reader, i: int, match: re.Match[str], at: datetime
) -> Reading | None:
    day, month, year = int(match[1]), int(match[2]), match[3] or ""
    if len(year) == 4:
        return i + 1, _day(int(year), month, day)
    if reader.word(i - 1) not in words.DAY_LEADS:
        return None
    if year:
        return i + 1, _day(2000 + int(year), month, day)
    if not reader.token(i).dotted:
        return None
    return i + 1, _latest_day(month, day, at)


def _dated(reader: Reader, j: int, month: int, day: int, at: datetime) -> Reading:
    """Return a day, with the year that may stand at ``j``."""
    year = reader.year_number(j)
    if year is not None:
        return j + 1, _day(year, month, day)
    return j, _latest_day(month, day, at)


def day_month(reader: Reader, i: int, at: datetime) -> Reading | None:
    """Return "8 May 2023", "8th of May", "8. Mai"."""
    day = reader.day_number(i)
    if day is None:
        return None
    has_of = reader.word(i + 1) == "of"
    j = i + 1 + has_of
    token = reader.token(j)
    month = words.MONTHS.get(token.word)
    if month is None:
        return None
    is_sure = (
        token.word not in words.DOUBTFUL_MONTHS
        or token.is_capital
        or has_of
        or reader.year_number(j + 1) is not None
        or reader.lead(i) != ""
    )
    return _dated(reader, j + 1, month, day, at) if is_sure else None


def month_day(reader: Reader, i: int, at: datetime) -> Reading | None:
    """Return "May 8th", "May 8, 2023"."""
    token = reader.token(i)
    month = words.MONTHS.get(token.word)
    day = reader.day_number(i + 1) if month else None
    if month is None or day is None or reader.word(i + 2) in words.UNITS:
        return None
    is_sure = (
        token.word not in words.DOUBTFUL_MONTHS
        or (token.is_capital and i > 0 and not reader.token(i - 1).closes)
        or words.ORDINAL.match(reader.word(i + 1)) is not None
        or reader.year_number(i + 2) is not None
        or reader.lead(i) != ""
    )
    return _dated(reader, i + 2, month, day, at) if is_sure else None


def month_alone(reader: Reader, i: int, at: datetime) -> Reading | None:
    token = reader.token(i)
    number = words.MONTHS.get(token.word)
    if number is None:
        return None
    year = reader.year_number(i + 1)
    if year is not None:
        return i + 2, _month(year, number)
    if token.word in words.CERTAIN_MONTHS:
        return i + 1, latest_month(number, at)
    lead = reader.lead(i)
    if token.word in words.DOUBTFUL_MONTHS and not token.is_capital:
        is_sure = lead in words.DOUBTLESS_LEADS
    else:
        after_article = reader.word(i - 1) == "the" and len(token.word) > 2
        is_sure = (lead not in ("", "on", "am")) or (after_article and token.is_capital)
    return (i + 1, latest_month(number, at)) if is_sure else None


def month_named(reader: Reader, i: int, at: datetime) -> Reading | None:
    """Return the month named at a token, with its year if one follows."""
    number = words.MONTHS.get(reader.word(i))
    if number is None:
        return None
    year_number = reader.year_number(i + 1)
    if year_number is not None:
        return i + 2, _month(year_number, number)
    return i + 1, latest_month(number, at)


def quarter(reader: Reader, i: int, at: datetime) -> Reading | None:
    """Return "Q2 2024", "2024-Q2", "in Q2", "the second quarter of 2024"."""
    word = reader.word(i)
    if match := words.QUARTER_YEAR.match(word):
        number, year = match[1] or match[4], match[2] or match[3]
        return i + 1, _quarter(int(year), int(number))
    j, is_named = i + 1, False
    if match := words.QUARTER_NAME.match(word):
        number = int(match[1])
    else:
        digits = reader.day_number(i) or words.ORDINALS.get(word)
        if digits is None or words.UNITS.get(reader.word(j)) != words.QUARTER:
            return None
        if not 1 <= digits <= 4:
            return None
        number, j, is_named = digits, j + 1, True
    k = j + 1 if reader.word(j) in ("of", "in") else j
    year_number = reader.year_number(k)
    if year_number is not None:
        return k + 1, _quarter(year_number, number)
    if not is_named and not reader.lead(i):
        return None
    span = spans.quarter(at.year, number)
    if span.since > at:
        span = spans.quarter(at.year - 1, number)
    return j, undated(span)


def year(reader: Reader, i: int, _: datetime) -> Reading | None:
    """Return "in 2021"; a count ("in 2021 rows") is no year."""
    number = reader.year_number(i)
    if number is None:
        return None
    lead = "in" if i == reader.led_index else reader.word(i - 1)
    is_year = lead in ("year", "jahr") or (
        lead in words.YEAR_LEADS or lead in words.THIRDS
    )
    after = reader.word(i + 1)
    if not reader.token(i).closes and lead not in ("year", "jahr"):
        counts = after.endswith("s") and after not in words.NOT_COUNTED
        if counts or after in words.UNITS or number % 1000 == 0:
            return None
    if lead == "of":
        is_year = reader.word(i - 2) in words.THIRDS
    return (i + 1, spans.year(number)) if is_year else None


DAYS: Final[tuple[Rule, ...]] = (numeric, day_month, month_day)


def undated(span: Span) -> Span:
    return Span(span.since, span.until, span.kind, dated=False)


def _check_year(year: int) -> int:
    if year < _FIRST_YEAR:
        message = "No entry is that old."
        raise ValueError(message)
    return year


def _day(year: int, month: int, day: int) -> Span:
    return spans.day(date(_check_year(year), month, day))


def _month(year: int, month: int) -> Span:
    return spans.month(_check_year(year), month)


def _quarter(year: int, number: int) -> Span:
    return spans.quarter(_check_year(year), number)


def _latest_day(month: int, day: int, at: datetime) -> Span:
    """Return the latest such day until ``at``; 29 February is of a leap year."""
    for year in range(at.year, max(0, at.year - 9), -1):
        try:
            span = spans.day(date(year, month, day))
        except ValueError:
            continue
        if span.since <= at:
            return undated(span)
    message = "There is no such day."
    raise ValueError(message)


def latest_month(number: int, at: datetime) -> Span:
    span = spans.month(at.year, number)
    return undated(span if span.since <= at else spans.month(at.year - 1, number))

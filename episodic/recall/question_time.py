"""Expressions of time in a question, resolved to spans: "last Friday", "im Mai".

``mentions`` reads English and German. What means something else as often as a time is
left alone: a lower-case "may", "sun", a version number, "24 h", "in 5 minutes". A
preference that is wrong costs more than one that is missing.

An expression without a year is the latest such day or month that is not in the future
of ``now``; a span wholly in the future is no mention. A day is a day in UTC, a week
begins on Monday. "Two weeks ago" is the seven days around that day, "two months ago"
the calendar month, "a year ago" the 91 days around that day, "end of May" its last
third. "8/5/2023" is read both ways.

The text is cut into tokens once, each position tries a bounded number of rules, and
each rule reads a bounded number of tokens: the time is linear in the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from episodic.recall.times import dates, periods, spans, tokens, words
from episodic.recall.times.reader import Reader, Reading
from episodic.recall.times.spans import ONE_DAY, Kind, Span
from episodic.recall.times.tokens import Token

MAX_MENTIONS: Final = 8
RECENT: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class TimeMention:
    """One expression: its text, where it stands in the question, and what it means.

    The span is ``[since, until)`` in UTC; None is an open end. ``width`` is the length
    of the period that was named, also where an end is open. ``is_relative`` says that
    it is seen from now ("last week") and names no date: entries of that time seldom
    have its words.
    """

    text: str
    start: int
    end: int
    since: datetime | None
    until: datetime | None
    kind: Kind
    width: timedelta
    is_relative: bool = False
    # Where else a time seen from now is said that means the same.
    repeats: tuple[tuple[int, int], ...] = ()

    @property
    def meaning(self) -> str:
        """The span in words: "Friday 15 November 2024", "since 1 March 2024"."""
        return spans.in_words(self.since, self.until, self.kind)


@dataclass(frozen=True, slots=True)
class _Reading:
    """The index behind an expression, and its span with ends that may be open."""

    behind: int
    since: datetime | None
    until: datetime | None
    kind: Kind
    width: timedelta


def mentions(question: str, now: datetime) -> list[TimeMention]:
    """Return the expressions of time in their order, ``MAX_MENTIONS`` at most.

    ``now`` is aware. The question is only read: no word is taken out of it.
    """
    parts = tokens.split(question)
    if not any(_may_begin(part.word) for part in parts):
        return []
    return read_all(question, Reader(parts, now.astimezone(UTC)))


def read_all(question: str, reader: Reader) -> list[TimeMention]:
    """Return the expressions that a reader of the question's tokens finds."""
    results: dict[tuple[datetime | None, datetime | None], TimeMention] = {}
    i = 0
    while i < len(reader.tokens) and len(results) < MAX_MENTIONS:
        if not _may_begin(reader.word(i)):
            i += 1
            continue
        if reader.word(i) in words.NEVER:
            i += 2
            continue
        readings = _expressions(reader, i)
        for candidate in readings:
            start, end = reader.tokens[i].start, reader.tokens[candidate.behind - 1].end
            mention = TimeMention(
                text=question[start:end],
                start=start,
                end=end,
                since=candidate.since,
                until=candidate.until,
                kind=candidate.kind,
                width=candidate.width,
                is_relative=_is_relative(reader.tokens[i : candidate.behind]),
            )
            span = candidate.since, candidate.until
            first = results.setdefault(span, mention)
            if first is not mention and mention.is_relative:
                place = mention.start, mention.end
                results[span] = replace(first, repeats=(*first.repeats, place))
        i = readings[0].behind if readings else i + _length_unread(reader, i)
    return list(results.values())[:MAX_MENTIONS]


def _is_relative(parts: Sequence[Token]) -> bool:
    return not any(words.is_of_calendar(part.word) for part in parts)


def _length_unread(reader: Reader, i: int) -> int:
    """Return how many tokens to leave out.

    "This Friday" that is still to come is not read as a bare "Friday".
    """
    is_to_come = reader.word(i) in words.THIS and reader.word(i + 1) in words.WEEKDAYS
    return 2 if is_to_come else 1


def _may_begin(word: str) -> bool:
    return word in words.TRIGGERS or word[0].isdigit() or word[0] == "q"


def _expressions(reader: Reader, i: int) -> list[_Reading]:
    """Return what begins at a token: one expression, or both readings of 8/5/2023."""
    if reader.word(i) in words.RECENTLY:
        since = _minus(reader.now, RECENT)
        return (
            [_Reading(i + 1, since, reader.now, Kind.RECENT, RECENT)] if since else []
        )
    if reading := _range(reader, i):
        return [_closed(reading)]
    if reader.word(i) in words.OPENERS:
        if reading := periods.period(reader, i, reader.now):
            return [_closed(reading)]  # "vor 3 Tagen"
        return _open(reader, i)
    reading = periods.period(reader, i, reader.now)
    if reading is None:
        return []
    return [_closed(reading), *_other_order(reader, i, reading)]


def _closed(reading: Reading) -> _Reading:
    behind, span = reading
    return _Reading(behind, span.since, span.until, span.kind, span.until - span.since)


def _minus(moment: datetime, length: timedelta) -> datetime | None:
    try:
        return moment - length
    except OverflowError:
        return None


def _open(reader: Reader, i: int) -> list[_Reading]:
    """Return "since March", "before June": a span with one open end."""
    opener = reader.word(i)
    reading = periods.period(reader, reader.behind_article(i + 1), reader.now, led=True)
    if reading is None:
        return []
    behind, span = reading
    since: datetime | None = None
    until: datetime | None = None
    if opener in words.SINCE:
        since = span.since
    elif opener in words.AFTER:
        since = span.until
    elif opener in words.BEFORE:
        until = span.since
    else:
        until = span.until
    if since is not None and since > reader.now:
        return []
    return [_Reading(behind, since, until, span.kind, span.until - span.since)]


def _range(reader: Reader, i: int) -> Reading | None:
    """Return "between March and May", "3 to 7 May", "from Monday to Friday"."""
    opener = reader.word(i)
    j = reader.behind_article(i + 1) if opener in words.FROM else i
    connectors = words.TO if opener not in words.BETWEEN else words.TO | words.AND
    if days := _days_of_month(reader, j, connectors):
        return days
    first = periods.period(reader, j, reader.now, led=j > i)
    if first is None or reader.word(first[0]) not in connectors:
        return None
    k = reader.behind_article(first[0] + 1)
    last = periods.period(reader, k, reader.now, led=True) or _same_month(
        reader, k, first[1]
    )
    if last is None:
        return None
    behind, end = last
    if first[1].since > end.since and not first[1].dated:
        # "between November and February": the first lies before the last.
        first = periods.period(reader, j, end.since, led=j > i)
    if first is None or first[1].since >= end.until:
        return None
    return behind, Span(first[1].since, end.until)


def _days_of_month(
    reader: Reader, j: int, connectors: frozenset[str]
) -> Reading | None:
    """Return "3 and 7 May", "3-7 May", "May 3-7"."""
    word = reader.word(j)
    if match := words.DAY_RANGE.match(word):
        numbers, month_at = (int(match[1]), int(match[2])), j + 1
    elif match := words.DAY_RANGE.match(reader.word(j + 1)):
        numbers, month_at = (int(match[1]), int(match[2])), j
    else:
        first, last = reader.day_number(j), reader.day_number(j + 2)
        if first is None or last is None or reader.word(j + 1) not in connectors:
            return None
        numbers, month_at = (first, last), j + 3
    reading = dates.month_named(reader, month_at, reader.now)
    if reading is None:
        return None
    behind, month = reading
    try:
        start, end = (month.since.replace(day=number) for number in numbers)
        until = end + ONE_DAY
    except (ValueError, OverflowError):
        return None
    if start >= end or start > reader.now:
        return None
    return max(behind, j + 2), Span(start, until)


def _same_month(reader: Reader, k: int, first: Span) -> Reading | None:
    """Return the 7th of "May 3 to 7"."""
    number = reader.day_number(k)
    if first.kind is not Kind.DAY or number is None or number <= first.since.day:
        return None
    if reader.word(k + 1) in words.UNITS:
        return None
    try:
        return k + 1, spans.day(first.since.date().replace(day=number))
    except (ValueError, OverflowError):
        return None


def _other_order(reader: Reader, i: int, reading: Reading) -> list[_Reading]:
    """Return 8 May 2023 for 8/5/2023, which was read as 5 August."""
    match = words.SLASHED.match(reader.word(i))
    if match is None or reading[0] != i + 1:
        return []
    day, month, year = (int(group) for group in match.groups())
    if day == month or max(day, month) > 12:
        return []
    span = spans.day(reading[1].since.date().replace(year=year, month=month, day=day))
    return [_closed((i + 1, span))] if span.since <= reader.now else []

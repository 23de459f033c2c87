"""One period of a question: the first rule that reads it."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from episodic.recall.times import dates, relative, spans, words
from episodic.recall.times.reader import Reader, Reading, Rule, first
from episodic.recall.times.spans import Kind, Span

PERIODS: Final[tuple[Rule, ...]] = (
    *dates.DAYS, dates.month_alone, dates.quarter, dates.year, relative.day_back,
    relative.rolling, relative.last, relative.ago, relative.weekday,
)  # fmt: skip


def period(
    reader: Reader, i: int, at: datetime, *, led: bool = False
) -> Reading | None:
    """Return the day, week, month or so that begins at a token."""
    before, reader.led_index = reader.led_index, i if led else reader.led_index
    try:
        return _third(reader, i, at) or first(reader, PERIODS, i, at)
    finally:
        reader.led_index = before


def _third(reader: Reader, i: int, at: datetime) -> Reading | None:
    """Return the first, second or last third: "early May", "end of last year"."""
    third = words.THIRDS.get(reader.word(i))
    if third is None:
        return None
    j = i + 1
    if reader.word(j) in ("of", "des", "in"):
        j = reader.behind_article(j + 1)
    elif reader.word(i) in ("end", "start", "beginning", "middle"):
        return None
    reading = first(reader, PERIODS, j, at)
    if reading is None or reading[1].kind in (Kind.DAY, Kind.RECENT, Kind.RANGE):
        return None
    behind, period = reading
    part = (period.until - period.since) / 3
    start = spans.midnight((period.since + third * part).date())
    end = spans.midnight((period.since + (third + 1) * part).date())
    if start > reader.now:
        return None
    return behind, Span(start, end, Kind.RANGE, period.dated)

"""The entries of the demo journal, dated from the moment of loading.

`plot.jsonl` is what happens to the shop, `routine.jsonl` the daily work around it. The
`at` of a line is a day and a time of day (day 0 is today), or seconds before now. In
its texts `{d-7}` is a date (14 Nov), `{w-7}` the number of its week and `{iso-7}` the
same date as 2026-11-14; without a number they, and `{weekday}`, are of its own day.
"""

from __future__ import annotations

import calendar
import json
import re
import tomllib
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from memory.rules.entries import NewEntry, Priority, Severity, round_ms

FIRST_DAY: Final = -35
# Day 0 of the routine is a Saturday.
ROUTINE_WEEKDAY: Final = calendar.SATURDAY
DATE_TOKEN: Final = re.compile(r"\{(d|w|iso|weekday)([+-]\d+)?\}")
DATES: Final[dict[str, Callable[[date], str]]] = {
    "d": lambda day: f"{day.day} {day:%b}",
    "w": lambda day: str(day.isocalendar().week),
    "iso": date.isoformat,
    "weekday": lambda day: f"{day:%A}",
}


class DemoEntry(NamedTuple):
    """One entry, the slug of its agent, and the priority an operator gives it."""

    agent: str
    priority: Priority
    new: NewEntry


def entries(now: datetime) -> Iterator[DemoEntry]:
    """Yield five weeks of entries, oldest first, none later than ``now``."""
    now = round_ms(now.astimezone(UTC))
    rows = [*_rows("plot.jsonl", now), *_rows("routine.jsonl", now, by_weekday=True)]
    created = set[str]()
    for row in sorted(rows, key=lambda row: row["ts"]):
        if row["ts"] > now:
            return
        if row["entry_type"] == "mission.created":
            created.add(row["mission_id"])
        elif row.get("mission_id") not in created:
            # Routine that was moved to a day before its mission.
            row["mission_id"] = None
        yield _entry(row)


def _rows(
    name: str, now: datetime, *, by_weekday: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield the lines of a file with their moments and dates filled in."""
    today = now.date()
    for line in _text(name).splitlines():
        at = json.loads(line)["at"]
        if at.endswith("s"):
            ts = now + timedelta(seconds=float(at.removesuffix("s")))
        else:
            day, time_of_day = at.split(" ")
            days = _same_weekday(int(day), today) if by_weekday else int(day)
            time_ = time.fromisoformat(time_of_day)
            ts = datetime.combine(today + timedelta(days), time_, UTC)
        yield json.loads(_dated(line, today, ts.date())) | {"ts": ts}


def _same_weekday(day: int, today: date) -> int:
    """Return the day in the same week of the story that has the weekday of a day.

    So weekends stay quiet, whenever the demo is loaded.
    """
    week, days_back = divmod(-day, 7)
    days_back = (days_back + today.weekday() - ROUTINE_WEEKDAY) % 7
    return max(FIRST_DAY, -7 * week - days_back)


def _entry(row: dict[str, Any]) -> DemoEntry:
    agent, priority = row.pop("agent"), Priority(row.pop("priority", "normal"))
    del row["at"]
    row["severity"] = Severity(row.get("severity", "info"))
    row["subjects"] = tuple(row.get("subjects", ()))
    return DemoEntry(agent, priority, NewEntry(**row))


def document(name: str, today: date) -> dict[str, Any]:
    """Return a TOML file of the demo with the dates in its texts."""
    return tomllib.loads(_dated(_text(name), today, today))


def _dated(text: str, today: date, own_day: date) -> str:
    """Return a text with its dates filled in."""

    def date_text(match: re.Match[str]) -> str:
        day = today + timedelta(int(match[2])) if match[2] else own_day
        return DATES[match[1]](day)

    return DATE_TOKEN.sub(date_text, text)


def _text(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")

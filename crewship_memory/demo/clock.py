"""Moments and dates relative to the moment the demo is loaded."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crewship_memory.demo import model

DATE_TOKEN = re.compile(r"\{(d|w|iso)([+-]\d+)\}")
MONTHS = [
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
]
WEEKDAYS = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
]


def whole_ms(moment: datetime) -> datetime:
    """Return a moment truncated to milliseconds."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


@dataclass(frozen=True, slots=True)
class Clock:
    """Converts relative moments of the script to absolute ones."""

    now: datetime

    @classmethod
    def starting(cls, now: datetime) -> Clock:
        if now.tzinfo is None:
            msg = "the story needs an aware moment to end at"
            raise ValueError(msg)
        return cls(whole_ms(now.astimezone(UTC)))

    def midnight(self, day: int) -> datetime:
        today = self.now.replace(hour=0, minute=0, second=0, microsecond=0)
        return today + timedelta(days=day)

    def moment(self, when: str) -> datetime:
        """`-23 10:42` is a day and a time of day, `-38m` is minutes before now."""
        if when.endswith("m"):
            return self.now + timedelta(minutes=int(when[:-1]))
        day, _, time = when.partition(" ")
        hour, minute = time.split(":")
        offset = timedelta(hours=int(hour), minutes=int(minute))
        return self.midnight(int(day)) + offset

    def day_of(self, moment: datetime) -> int:
        return (moment.date() - self.now.date()).days

    def weekday(self, day: int) -> str:
        return WEEKDAYS[self.midnight(day).weekday()]

    def date(self, day: int) -> str:
        date = self.midnight(day)
        return f"{date.day} {MONTHS[date.month - 1]}"

    def dated(self, text: str) -> str:
        """Fills `{d-7}` (14 Nov), `{w-7}` (46) and `{iso-7}` (2026-11-14)."""
        return DATE_TOKEN.sub(self._token, text)

    def dated_all(self, value: model.Json) -> model.Json:
        if isinstance(value, str):
            return self.dated(value)
        if isinstance(value, list):
            return [self.dated_all(item) for item in value]
        if isinstance(value, dict):
            return {key: self.dated_all(item) for key, item in value.items()}
        return value

    def _token(self, match: re.Match[str]) -> str:
        kind, day = match[1], int(match[2])
        if kind == "w":
            return str(self.midnight(day).isocalendar().week)
        if kind == "iso":
            return self.midnight(day).date().isoformat()
        return self.date(day)

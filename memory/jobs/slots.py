"""The slots of jobs: which interval or night a moment belongs to."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Final

NIGHT: Final = time(3, 0, tzinfo=UTC)
NIGHT_OF: Final = "night of"


def slot_of(interval: timedelta, now: datetime) -> datetime:
    """Return the start of the interval that contains ``now``, counted from 1970."""
    seconds = int(interval.total_seconds())
    return datetime.fromtimestamp(int(now.timestamp()) // seconds * seconds, UTC)


def last_night(now: datetime) -> datetime:
    tonight = datetime.combine(now.astimezone(UTC).date(), NIGHT)
    return tonight if tonight <= now else tonight - timedelta(days=1)


def by_interval(interval: timedelta, now: datetime) -> str:
    """Return the name of the slot of an interval."""
    return slot_of(interval, now).strftime("%Y-%m-%dT%H:%M:%SZ")


def of_night(now: datetime) -> str:
    """Return the name of the slot of the last night."""
    return f"{NIGHT_OF} {last_night(now):%Y-%m-%d}"

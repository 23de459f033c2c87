"""Deadlines of requests, in calendar months of the workspace's time zone.

One month after receipt, until the end of that day; where the month has no such day,
the month's last day (31 January → 28 or 29 February). Days left are calendar days,
not hours: what is due at midnight is *due today* all day.
"""

from __future__ import annotations

from calendar import monthrange
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from memory.rules.translation import gettext, ngettext

MONTHS: Final = 1
MAX_EXTRA_MONTHS: Final = 2
SOON_DAYS: Final = 7
# The database keeps milliseconds: the end of a day is one before midnight.
_RESOLUTION: Final = timedelta(milliseconds=1)


def zone(name: str) -> ZoneInfo | None:
    """Return a time zone by its name, None when there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        # Unknown name, a path outside the zone folder, or a folder.
        return None


def add_months(day: date, months: int) -> date:
    """Return the same day some months later, or the last day of a shorter month."""
    index = day.year * 12 + day.month - 1 + months
    year, month = divmod(index, 12)
    last = monthrange(year, month + 1)[1]
    return date(year, month + 1, min(day.day, last))


def end_of(day: date, where: ZoneInfo) -> datetime:
    """Return the last moment of a day in a zone, in UTC.

    Counted back from the next midnight, so a day of 23 or 25 hours ends where it ends.
    """
    midnight = datetime.combine(day + timedelta(days=1), time(), where)
    return midnight.astimezone(UTC) - _RESOLUTION


def due(received_at: datetime, where: ZoneInfo, extra: int = 0) -> datetime:
    """Return when a request is due; ``extra`` months are counted from receipt too."""
    day = received_at.astimezone(where).date()
    return end_of(add_months(day, MONTHS + extra), where)


def same_day_in(moment: datetime, before: ZoneInfo, after: ZoneInfo) -> datetime:
    """Return the end of the same calendar day in another zone."""
    return end_of(moment.astimezone(before).date(), after)


def days_left(due_at: datetime, now: datetime, where: ZoneInfo) -> int:
    """Return calendar days until the due day: 0 is today, negative is overdue."""
    return (due_at.astimezone(where).date() - now.astimezone(where).date()).days


def words(days: int) -> str:
    """Return the days left as a phrase, such as ``3 days overdue``."""
    if days == 0:
        return gettext("due today")
    if days > 0:
        phrase = ngettext("{count} day left", "{count} days left", days)
    else:
        phrase = ngettext("{count} day overdue", "{count} days overdue", -days)
    return phrase.format(count=abs(days))


def urgency(days: int) -> str:
    """Return overdue, today, soon (within a week) or later."""
    if days < 0:
        return "overdue"
    if days == 0:
        return "today"
    return "soon" if days <= SOON_DAYS else "later"

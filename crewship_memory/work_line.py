"""One line of the work list, and how bad it is that it waits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Final


class Rank(IntEnum):
    """How bad it is that a line waits; the list is sorted by it."""

    OVERDUE = 0
    BROKEN = 1
    TODAY = 2
    HIGH = 3
    MEDIUM = 4
    LOW = 5


BADGES: Final = {
    Rank.OVERDUE: ("red", "overdue"),
    Rank.BROKEN: ("red", "broken"),
    Rank.TODAY: ("yellow", "due today"),
    Rank.HIGH: ("red", "high"),
    Rank.MEDIUM: ("yellow", "soon"),
    Rank.LOW: ("", "waits"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkLine:
    """One thing that waits. ``phrase`` is its part of the headline."""

    rank: Rank
    phrase: str
    note: str
    url: str
    act: str = ""
    since: datetime | None = None
    due: datetime | None = None

    @property
    def title(self) -> str:
        """The phrase as a sentence begins."""
        return self.phrase[:1].upper() + self.phrase[1:]

    @property
    def colour(self) -> str:
        return BADGES[self.rank][0]

    @property
    def word(self) -> str:
        return BADGES[self.rank][1]


def count_phrase(
    number: int, singular: str, plural: str, limit: int | None = None
) -> str:
    """Return a count in words; from ``limit`` on, where counting ends, "at least"."""
    text = f"{number:,} {singular if number == 1 else plural}"
    return f"at least {text}" if limit and number >= limit else text

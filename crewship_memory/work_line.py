"""One line of the work list, and how bad it is that it waits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Final

from django.utils.translation import gettext, gettext_noop

from crewship_memory.templatetags.ui import number


class Rank(IntEnum):
    """How bad it is that a line waits; the list is sorted by it."""

    OVERDUE = 0
    BROKEN = 1
    TODAY = 2
    HIGH = 3
    MEDIUM = 4
    LOW = 5


BADGES: Final = {
    Rank.OVERDUE: ("red", gettext_noop("overdue")),
    Rank.BROKEN: ("red", gettext_noop("broken")),
    Rank.TODAY: ("yellow", gettext_noop("due today")),
    Rank.HIGH: ("red", gettext_noop("high")),
    Rank.MEDIUM: ("yellow", gettext_noop("soon")),
    Rank.LOW: ("", gettext_noop("waits")),
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
        return gettext(BADGES[self.rank][1])


def count_phrase(text: str, count: int, limit: int | None = None) -> str:
    """Return a text with its count; from ``limit``, where counting ends, "at least"."""
    phrase = text.format(count=number(count))
    if limit and count >= limit:
        return gettext("at least {phrase}").format(phrase=phrase)
    return phrase

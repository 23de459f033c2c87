"""The bands that judge a metric or the score, as one table. Pure arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from memory.rules.translation import gettext_noop


class Band(StrEnum):
    """A judgement of a metric or a score; pages show it in the reader's language."""

    RED = gettext_noop("red")
    YELLOW = gettext_noop("yellow")
    GREEN = gettext_noop("green")
    NONE = gettext_noop("no data")


@dataclass(frozen=True, slots=True)
class BandRow:
    """A band: the value it starts at, its title, its colour and its range in words.

    The title and the range are translated where they are shown.
    """

    band: Band
    starts_at: float | None
    title: str
    colour: str
    range: str


# From the worst to the best; a band ends where the next one starts.
BANDS: Final = (
    BandRow(Band.RED, 0.0, gettext_noop("Red"), "red", gettext_noop("below 50")),
    BandRow(
        Band.YELLOW, 50.0, gettext_noop("Yellow"), "yellow", gettext_noop("50 to 75")
    ),
    BandRow(Band.GREEN, 75.0, gettext_noop("Green"), "green", gettext_noop("from 75")),
    BandRow(Band.NONE, None, gettext_noop("No data"), "", gettext_noop("no data yet")),
)
EXPLANATION: Final = gettext_noop(
    "A band is the judgement of a number from 0 to 100: red below 50, yellow 50 to 75, "
    "green from 75."
)
# Where one band ends and the next starts.
LIMITS: Final = tuple(row.starts_at for row in BANDS if row.starts_at)
_ROWS: Final = {row.band: row for row in BANDS}


def band(value: float | None) -> Band:
    """Return the band of a metric or a score: 50 is yellow, 75 is green."""
    if value is None:
        return Band.NONE
    passed = [r for r in BANDS if r.starts_at is not None and value >= r.starts_at]
    return passed[-1].band


def row(name: Band) -> BandRow:
    """Return what the table says about a band."""
    return _ROWS[name]

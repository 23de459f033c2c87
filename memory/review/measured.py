"""What the rules held when they were last measured, read from measured.json.

The file is written by .ci/measure_scanner.py, see *What it holds* in memory/README.md.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, Final

from memory.rules import intervals

FILE: Final = Path(__file__).with_name("measured.json")


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many texts."""

    count: int
    texts: int

    @property
    def percent(self) -> float:
        """The share in percent; 0 where nothing was counted."""
        return 100 * self.count / self.texts if self.texts else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval of 95 %, in percent; (0, 100) where nothing was counted."""
        low, high = intervals.wilson(self.count, self.texts)
        return 100 * low, 100 * high


@dataclass(frozen=True, slots=True)
class Row:
    """A source or a kind of text: what the rules hold, and rules fitted without it."""

    name: str
    share: Share
    share_without: Share | None = None
    # Where the texts are: owner and name at GitHub, or other words.
    place: str = ""

    @property
    def url(self) -> str:
        """The repository's address; empty where the place is not one repository."""
        owner, slash, name = self.place.partition("/")
        is_one = bool(slash) and not set(self.place) & set(" ,(")
        return f"https://github.com/{owner}/{name}" if is_one else ""


@dataclass(frozen=True, slots=True)
class Spread:
    """The mean of sources, and between what 95 % of other draws of sources lie."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Figures:
    """Everything of one measurement."""

    measured_on: date
    rules_version: str
    source_count: int
    text_count: int
    # Whose verdict is the same when it is computed from the lines that fired.
    recomputed_count: int
    mean: Spread
    mean_without: Spread
    attacks: tuple[Row, ...]
    honest: tuple[Row, ...]
    blind: tuple[Row, ...]
    missed_kinds: tuple[Row, ...]
    unreachable: tuple[str, ...]

    @property
    def blind_attacks(self) -> Share:
        """Held attacks of those that were written without reading the rules."""
        shares = [row.share for row in self.blind if row.name != "honest"]
        count = sum(share.count for share in shares)
        return Share(count, sum(share.texts for share in shares))


def _row(fields: dict[str, Any]) -> Row:
    texts, without = fields["texts"], fields.get("left_out")
    return Row(
        fields["name"],
        Share(fields["held"], texts),
        None if without is None else Share(without, texts),
        fields.get("place", ""),
    )


def read(document: dict[str, Any]) -> Figures:
    """The figures of a parsed file."""

    def rows(name: str) -> tuple[Row, ...]:
        return tuple(map(_row, document[name]))

    return Figures(
        date.fromisoformat(document["measured_on"]),
        document["rules_version"],
        document["sources"],
        document["texts"],
        document["recomputed"],
        Spread(**document["mean"]),
        Spread(**document["mean_left_out"]),
        rows("attacks"),
        rows("honest"),
        rows("blind"),
        rows("unseen"),
        tuple(document["unreachable"]),
    )


@cache
def figures() -> Figures:
    """The figures of the last measurement."""
    return read(json.loads(FILE.read_text(encoding="utf-8")))

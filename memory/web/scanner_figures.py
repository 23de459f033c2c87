"""What the page of the scanner rules shows of the last measurement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from memory.figures import formatted
from memory.review import measured
from memory.review.measured import Row, Share, Spread
from memory.review.measured_words import ACTS, HONEST, KINDS
from memory.scanner import registry


class Line(NamedTuple):
    """A row of a table: its words, how many texts, and shares with their intervals."""

    words: str
    url: str
    texts: int
    share: str
    share_without: str
    example: str = ""


def _percent(value: float, low: float, high: float, digits: int = 0) -> str:
    shape = f".{digits}f"
    interval = f"{formatted(low, shape)}–{formatted(high, shape)}"
    # No line ends between a number and its sign.
    return f"{formatted(value, shape)}\u00a0% ({interval})"


def share(value: Share | None, digits: int = 0) -> str:
    """Return a share with its interval, in the reader's way of writing numbers."""
    return _percent(value.percent, *value.interval, digits) if value else ""


def _average(spread: Spread) -> str:
    return _percent(spread.mean, spread.low, spread.high)


def _lines(
    rows: Iterable[Row], words: Mapping[str, str], digits: int = 0
) -> list[Line]:
    return [
        Line(
            words.get(row.name, row.name),
            row.url,
            row.share.texts,
            share(row.share, digits),
            share(row.share_without, digits),
            KINDS[row.name].example if row.name in KINDS else "",
        )
        for row in rows
    ]


def context() -> dict[str, Any]:
    """Return the figures, and whether another set of rules runs than was measured."""
    figures = measured.figures()
    kinds = {name: kind.words for name, kind in KINDS.items()}
    return {
        "figures": figures,
        "runs_another_set": figures.rules_version != registry.VERSION,
        "average": _average(figures.mean),
        "average_without": _average(figures.mean_without),
        "attack_lines": _lines(figures.attacks, {}),
        "honest_lines": _lines(figures.honest, HONEST, 2),
        "blind_lines": _lines(figures.blind, ACTS),
        "blind": share(figures.blind_attacks),
        "unseen_lines": _lines(figures.missed_kinds, kinds),
    }

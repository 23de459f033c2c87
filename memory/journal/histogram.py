"""How entries spread over time: equal spans, each with its entries by severity."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from memory.rules.entries import Severity

MAX_BARS: Final = 60
MINUTE, HOUR, DAY = 60, 3_600, 86_400
STEPS: Final = (
    *(MINUTE, 5 * MINUTE, 15 * MINUTE),
    *(HOUR, 3 * HOUR, 12 * HOUR),
    *(DAY, 7 * DAY, 28 * DAY, 364 * DAY),
)
# A Monday, so that weeks begin on one.
ORIGIN: Final = datetime(1970, 1, 5, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Bar:
    """The entries of one span: from ``start`` to the millisecond ``last``."""

    start: datetime
    last: datetime
    severities: dict[str, int]

    @property
    def total(self) -> int:
        """The entries of all severities."""
        return sum(self.severities.values())


def _second(moment: datetime) -> int:
    return math.floor((moment - ORIGIN).total_seconds())


def _step(first: int, last: int) -> int:
    """Return the smallest step in which the span has at most MAX_BARS bars."""
    for step in STEPS:
        if last // step - first // step < MAX_BARS:
            return step
    years = math.ceil((last - first) / (MAX_BARS - 1) / STEPS[-1])
    return years * STEPS[-1]


def histogram(moments: Mapping[tuple[datetime, str], int]) -> list[Bar]:
    """Return the bars of (moment, severity) → entries, oldest first, empty ones too."""
    if not moments:
        return []
    seconds = [_second(ts) for ts, _ in moments]
    first, last = min(seconds), max(seconds)
    step = _step(first, last)
    counts: Counter[tuple[int, str]] = Counter()
    for (ts, severity), number in moments.items():
        counts[_second(ts) // step, severity] += number
    bars = []
    for index in range(first // step, last // step + 1):
        start = ORIGIN + timedelta(seconds=index * step)
        span = timedelta(seconds=step, milliseconds=-1)
        severities = {s.value: counts[index, s.value] for s in Severity}
        bars.append(Bar(start, start + span, severities))
    return bars

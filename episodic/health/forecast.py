"""When a line through recent snapshots meets the limit of a band. Pure arithmetic.

A straight line is fitted by least squares. It is believed only when there are at least
five points, it moves 0.1 points a day or more, and it explains at least 60 % of the
movement (R²). The span of days comes from the slope give or take two standard errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import Final

from episodic.health import bands

LEAST_POINTS: Final = 5
LEAST_SLOPE: Final = 0.1
LEAST_FIT: Final = 0.6
WITHIN_DAYS: Final = 14.0


@dataclass(frozen=True, slots=True)
class Line:
    """A fitted line: its slope a day, the slope's error, its share of the movement."""

    slope: float
    error: float
    fit: float


@dataclass(frozen=True, slots=True)
class Crossing:
    """A limit met in about so many days from the last point."""

    limit: float
    days: float
    soonest: float
    latest: float
    slope: float
    fit: float
    points: int


def line(points: Sequence[tuple[float, float]]) -> Line | None:
    """Fit a line through (day, value) points; None for too few or all on one day."""
    count = len(points)
    if count < LEAST_POINTS:
        return None
    middle = sum(x for x, _ in points) / count
    level = sum(y for _, y in points) / count
    spread = sum((x - middle) ** 2 for x, _ in points)
    if not spread:
        return None
    slope = sum((x - middle) * (y - level) for x, y in points) / spread
    total = sum((y - level) ** 2 for _, y in points)
    rest = sum((y - level - slope * (x - middle)) ** 2 for x, y in points)
    error = sqrt(rest / (count - 2) / spread)
    return Line(slope, error, 1 - rest / total if total else 0.0)


def _limit(value: float, slope: float) -> float | None:
    """Return the next limit in the direction of the slope."""
    if slope < 0:
        return max((limit for limit in bands.LIMITS if limit <= value), default=None)
    return min((limit for limit in bands.LIMITS if limit > value), default=None)


def crossing(points: Sequence[tuple[float, float]]) -> Crossing | None:
    """Return the limit that the last value meets within two weeks, if any."""
    fitted = line(points)
    if fitted is None or abs(fitted.slope) < LEAST_SLOPE or fitted.fit < LEAST_FIT:
        return None
    value = points[-1][1]
    limit = _limit(value, fitted.slope)
    if limit is None:
        return None
    way = abs(limit - value)
    days = way / abs(fitted.slope)
    if days > WITHIN_DAYS:
        return None
    fast, slow = (abs(fitted.slope) + sign * 2 * fitted.error for sign in (1, -1))
    latest = way / slow if slow > 0 else inf
    return Crossing(
        limit, days, way / fast, latest, fitted.slope, fitted.fit, len(points)
    )

"""An entry's importance: base by type and severity, floors, decay, reinforcement.

base       = 0.5 + type + severity, raised to the priority's floor, cut to 0..1
recency    = max(0.1, 1 − days / 180), days since the entry was first indexed
boost      = 1 + log2(references + 1) / 8
importance = base × recency × boost, cut to 0..1; a permanent entry keeps its floor

The tables are those of the episodic design document.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

NEUTRAL: Final = 0.5
TYPE: Final = {
    "eval.regression_detected": 0.30,
    "peer.escalation": 0.20,
    "memory.consolidated": 0.20,
    "summary.generated": 0.15,
    "approval.denied": 0.15,
    "keeper.decision": 0.10,
    "mission.status_change": 0.05,
}
SEVERITY: Final = {"info": 0.0, "notice": 0.05, "warn": 0.15, "error": 0.25}
FLOOR: Final = {"normal": 0.0, "pin": 0.80, "high": 0.85, "permanent": 0.95}
RAMP_DAYS: Final = 180.0
LEAST_RECENCY: Final = 0.1
BOOST_DIVISOR: Final = 8.0


@dataclass(frozen=True, slots=True)
class Importance:
    """An entry's weight taken apart; base, recency, floor and value lie in 0..1."""

    base: float
    recency: float
    boost: float
    floor: float
    value: float
    days: float
    references: int


def _unit(value: float) -> float:
    return min(1.0, max(0.0, value))


def base(entry_type: str, severity: str, priority: str) -> float:
    """Return the weight of a fresh entry, 0..1."""
    raw = NEUTRAL + TYPE.get(entry_type, 0.0) + SEVERITY.get(severity, 0.0)
    return _unit(max(round(raw, 10), FLOOR.get(priority, 0.0)))


def recency(days: float) -> float:
    """Return the share left after ``days``: a line down to 0.1 at 162 days."""
    return max(LEAST_RECENCY, 1.0 - max(0.0, days) / RAMP_DAYS)


def boost(references: int) -> float:
    """Return the factor for being recalled: 1 at none, 2 at 255."""
    return 1.0 + math.log2(max(0, references) + 1) / BOOST_DIVISOR


def explain(
    entry_type: str, severity: str, priority: str, *, days: float, references: int
) -> Importance:
    """Return the weight of an entry and the parts it is made of."""
    weight = base(entry_type, severity, priority)
    decay, reinforcement = recency(days), boost(references)
    floor = FLOOR["permanent"] if priority == "permanent" else 0.0
    value = max(floor, _unit(weight * decay * reinforcement))
    return Importance(weight, decay, reinforcement, floor, value, days, references)

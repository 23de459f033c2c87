"""The table of metrics, and what follows from it: the measurement and the score.

To add a metric, write its module beside the others and list its declaration here; the
score, the API, the pages, causes, forecasts and fixes iterate this table. A metric with
a column of ``HealthSnapshot`` is stored there, any other within the details.

The score is the weighted mean of the metrics that have data, over the weights of those
metrics; without any it is None. A metric without data therefore neither raises nor
lowers the score, and the known weight is shown beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from episodic.health.metrics import (
    coherence,
    coverage,
    efficiency,
    freshness,
    reachability,
)
from episodic.health.metrics.base import IndexedScope, Measurement, Metric, Scope
from episodic.index import engine
from episodic.index.snapshot import IndexArrays
from episodic.models import HealthSnapshot

METRICS: tuple[Metric, ...] = (
    freshness.METRIC,
    coverage.METRIC,
    coherence.METRIC,
    efficiency.METRIC,
    reachability.METRIC,
)
# Key of the details under which metrics without a column keep their value.
WITHOUT_COLUMN: Final = "values"
Values = Mapping[str, float | None]


def names() -> tuple[str, ...]:
    """Return the names of the metrics, in the order of the table."""
    return tuple(metric.name for metric in METRICS)


def known_weight(values: Values) -> float:
    """Return the weights of the metrics that have data, together."""
    return sum(m.weight for m in METRICS if values.get(m.name) is not None)


def score(values: Values) -> float | None:
    """Return the weighted mean of the metrics that have data."""
    weight = known_weight(values)
    if not weight:
        return None
    points = sum(metric.weight * (values.get(metric.name) or 0) for metric in METRICS)
    return round(points / weight, 1)


# ── Measuring ────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class Health:
    """The metrics of one scope at one moment, and their inputs by metric."""

    values: dict[str, float | None] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)


def measure(
    workspace_id: str,
    crew_id: str | None,
    arrays: IndexArrays | None,
    at: datetime,
    *,
    as_of: bool = False,
) -> Health:
    """Measure a workspace or one of its crews.

    With ``as_of`` only entries whose own time lies before the moment count. Whatever
    cannot be read raises, so that a broken query never becomes a zero.
    """
    scope = Scope(workspace_id, crew_id, at, as_of)
    indexed = None
    if arrays is not None and len(rows := arrays.rows(crew_id, at)):
        indexed = IndexedScope(at, arrays, rows, crew_id)
    health = Health()
    for metric in METRICS:
        measurement = _measure(metric, scope, indexed)
        health.values[metric.name] = measurement.value if measurement else None
        if measurement is not None:
            health.details[metric.name] = measurement.details
    health.details["known_weight"] = round(known_weight(health.values), 2)
    health.details["model"] = engine.embedder().model or None
    return health


def _measure(
    metric: Metric, scope: Scope, indexed: IndexedScope | None
) -> Measurement | None:
    if metric.measure is not None:
        return metric.measure(scope)
    if metric.measure_indexed is not None and indexed is not None:
        return metric.measure_indexed(indexed)
    return None


# ── Snapshots ────────────────────────────────────────────────────────────────
def has_column(name: str) -> bool:
    return any(field.name == name for field in HealthSnapshot._meta.fields)


def fields(health: Health) -> dict[str, Any]:
    """Return a measurement as the fields of a snapshot."""
    columns = {n: v for n, v in health.values.items() if has_column(n)}
    without_column = {n: v for n, v in health.values.items() if n not in columns}
    details = health.details
    if without_column:
        details = details | {WITHOUT_COLUMN: without_column}
    return {**columns, "score": score(health.values), "details": details}


def value(row: HealthSnapshot, name: str) -> float | None:
    """Return a metric of a snapshot, or its score."""
    if name == "score" or has_column(name):
        number: float | None = getattr(row, name)
        return number
    return row.details.get(WITHOUT_COLUMN, {}).get(name)  # type: ignore[no-any-return]


def values(row: HealthSnapshot) -> dict[str, float | None]:
    return {name: value(row, name) for name in names()}


def points_lost(row: HealthSnapshot) -> dict[str, float]:
    """Return the points of a snapshot's score that each metric costs."""
    numbers = values(row)
    weight = known_weight(numbers)
    return {
        metric.name: (100 - number) * metric.weight / weight
        if (number := numbers[metric.name]) is not None
        else 0.0
        for metric in METRICS
    }

"""JSON API of memory health."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any

from ninja import Query, Router, Schema
from pydantic import Field, create_model

from episodic.health import accepted, bands, causes, fixes
from episodic.health import snapshots as health
from episodic.health.metrics import table as metrics
from episodic.health.metrics.base import Action
from episodic.models import HealthSnapshot
from memory.api.request import ApiRequest
from memory.api.shapes import Stamp, TextOrNull, annotated
from memory.rules.shapes import Id, Strict

router = Router(tags=["health"])


class HealthQuery(Strict):
    """Whose health: the workspace's, or a crew's. An agent's is its crew's."""

    crew_id: Id | None = None


class HistoryQuery(HealthQuery):
    """How far back."""

    days: Annotated[int, Field(ge=1, le=400)] = 30


class RecomputeIn(Strict):
    """What to measure: a crew, or the workspace with all its crews."""

    crew_id: Id | None = None


_METRIC_FIELDS: dict[str, Any] = {
    metric.name: (float | None, Field(description=metric.explanation))
    for metric in metrics.METRICS
}
MetricsOut = create_model(
    "MetricsOut",
    __base__=Schema,
    __doc__="0 to 100 each; null where there is nothing to measure.",
    **_METRIC_FIELDS,
)


class ActionOut(Schema):
    """What helps: an address to open or to post to."""

    kind: str
    label: str
    url: str
    method: str

    @staticmethod
    def resolve_url(action: Action) -> str:
        fix = fixes.FIXES.get(action.kind)
        return (fix and fix.program_url) or action.url


class CauseOut(Schema):
    """One thing that pulls a metric down; points are of the score.

    ``accepted``: a person accepts it with a reason for now. It costs its points all the
    same.
    """

    metric: str
    points: float
    title: str
    text: str
    action: ActionOut
    accepted: bool


class SnapshotOut(Schema):
    """The health of one day; ``crew_id`` is null for the workspace."""

    workspace_id: str
    crew_id: TextOrNull
    date: date
    computed_at: Stamp
    score: float | None
    band: str
    metrics: MetricsOut
    details: dict[str, Any]

    @staticmethod
    def resolve_band(row: HealthSnapshot) -> str:
        return bands.band(row.score).value

    @staticmethod
    def resolve_metrics(row: HealthSnapshot) -> dict[str, float | None]:
        return metrics.values(row)


class HealthOut(SnapshotOut):
    """The newest snapshot with its causes."""

    causes: list[CauseOut]


class HistoryOut(Schema):
    """Snapshots, oldest first."""

    snapshots: list[SnapshotOut]


def _with_causes(row: HealthSnapshot) -> HealthSnapshot:
    return annotated(row, causes=accepted.marked(row, causes.of(row)))


@router.get("/health", response=HealthOut, operation_id="memory_health")
def latest(request: ApiRequest, query: Query[HealthQuery]) -> HealthSnapshot:
    """Get the newest health of memory with its causes and what helps."""
    return _with_causes(health.latest(request.auth, query.crew_id))


@router.post("/health/recompute", response=HealthOut, operation_id="recompute_health")
def recompute(request: ApiRequest, data: RecomputeIn) -> HealthSnapshot:
    """Measure now and store the result as today's."""
    return _with_causes(health.recompute(request.auth, data.crew_id))


@router.get("/health/history", response=HistoryOut, operation_id="health_history")
def history(request: ApiRequest, query: Query[HistoryQuery]) -> dict[str, Any]:
    """Return the snapshots of the last days, oldest first."""
    return {"snapshots": health.history(request.auth, query.days, query.crew_id)}

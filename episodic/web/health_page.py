"""The context of the health page: immutable values, worded for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from episodic.health import accepted, bands, causes, outcomes, repairs, trends
from episodic.health import snapshots as health
from episodic.health.accepted import AcceptedLine
from episodic.health.causes import Cause
from episodic.health.metrics import table as metrics
from episodic.health.metrics.base import Metric
from episodic.health.outcomes import Outcome
from episodic.health.repairs import Repair
from episodic.models import HealthSnapshot
from memory import workspace_tree
from memory.models import Crew
from memory.rules.permissions import Actor

SPANS: Final = (7, 30, 90)
Points = tuple[tuple[date, float | None], ...]


@dataclass(frozen=True, slots=True)
class Judgement:
    """A number with its band and how far it came in the span."""

    value: float | None
    colour: str
    word: str
    change: float | None


@dataclass(frozen=True, slots=True)
class MetricCard:
    """A metric with its inputs in words and its values over the days."""

    name: str
    title: str
    explanation: str
    judgement: Judgement
    weight: float
    points: float | None
    note: str
    line: Points


@dataclass(frozen=True, slots=True)
class CrewLine:
    """The score of a crew or of the workspace, its line and its first cause."""

    crew_id: str
    slug: str
    members: str
    judgement: Judgement
    metrics: tuple[Judgement, ...]
    line: Points
    cause: Cause | None


@dataclass(frozen=True, slots=True)
class Page:
    """Everything the health page shows; without a snapshot only who and when.

    ``causes`` are the ones that no repair cures and nobody accepts.
    """

    crew: Crew | None
    crews: tuple[Crew, ...]
    days: int
    spans: tuple[int, ...]
    snapshot: HealthSnapshot | None
    score: Judgement
    metrics: tuple[MetricCard, ...]
    repairs: tuple[Repair, ...]
    causes: tuple[Cause, ...]
    accepted: tuple[AcceptedLine, ...]
    outcomes: tuple[Outcome, ...]
    selected: str
    selected_title: str
    lines: tuple[tuple[str, Points], ...]
    failing: tuple[date, ...]
    events: tuple[trends.Event, ...]
    forecasts: tuple[trends.Forecast, ...]
    table: tuple[CrewLine, ...]
    backfilled: int
    band_legend: tuple[bands.BandRow, ...] = bands.BANDS
    band_explanation: str = bands.EXPLANATION

    @property
    def finding(self) -> str:
        """What is true now, in one sentence."""
        name = self.crew.slug if self.crew else "The workspace"
        if self.snapshot is None:
            owner = self.crew.slug if self.crew else "this memory"
            return f"The health of {owner} has not been measured yet"
        if self.score.value is None:
            return f"{name} holds no memory that could be measured yet"
        sentence = f"{name} is {self.score.word.lower()} at {self.score.value:.1f}"
        return f"{sentence}: {self.worst} costs it the most" if self.worst else sentence

    @property
    def lost_points(self) -> float:
        """The points of the score that are missing to 100."""
        return 100 - self.score.value if self.score.value is not None else 0.0

    @property
    def remedy(self) -> Repair | None:
        """The repair that is expected to return the most points."""
        return next((repair for repair in self.repairs if repair.points > 0), None)

    @property
    def event_days(self) -> tuple[date, ...]:
        """The days of the events that are listed."""
        return tuple(event.day for event in self.events)

    @property
    def worst(self) -> str:
        """The metric that costs the most points; empty when none costs any."""
        if self.snapshot is None:
            return ""
        points = metrics.points_lost(self.snapshot)
        worst = max(points, key=lambda name: points[name])
        return worst if points[worst] >= causes.MIN_POINTS else ""


def days(text: str) -> int:
    """Return the requested span of days, 30 when it is not one of ``SPANS``."""
    return int(text) if text in {str(span) for span in SPANS} else 30


def judge(rows: Sequence[HealthSnapshot], name: str = "score") -> Judgement:
    """Return the newest value of a metric, its band, and its change over the rows."""
    values = [v for row in rows if (v := metrics.value(row, name)) is not None]
    value = metrics.value(rows[-1], name) if rows else None
    band = bands.row(bands.band(value))
    change = None
    if value is not None and len(values) > 1:
        change = round(value - values[0], 1)
    return Judgement(value, band.colour, band.title, change)


def line(rows: Sequence[HealthSnapshot], name: str = "score") -> Points:
    """Return the values of a metric by day."""
    return tuple((row.date, metrics.value(row, name)) for row in rows)


def _card(rows: Sequence[HealthSnapshot], metric: Metric) -> MetricCard:
    newest = rows[-1]
    judgement = judge(rows, metric.name)
    weight, points = 0.0, None
    if judgement.value is not None:
        weight = metric.weight / metrics.known_weight(metrics.values(newest))
        points = judgement.value * weight
    try:
        note = metric.inputs.format(**newest.details.get(metric.name, {}))
    except KeyError:
        note = "too few entries to tell"
    return MetricCard(
        metric.name, metric.title, metric.explanation, judgement, weight, points,
        note, line(rows, metric.name),
    )  # fmt: skip


def table(actor: Actor, days: int = 30) -> tuple[CrewLine, ...]:
    """Return the workspace and its crews with their scores and first causes."""
    snapshots = health.by_scope(actor, days)
    members: dict[str, list[str]] = {}
    slugs: dict[str, str] = {}
    for agent in workspace_tree.agents(actor):
        slugs[agent.id] = agent.slug
        members.setdefault(agent.crew_id, []).append(agent.slug)
    crews = workspace_tree.crews(actor)
    count = f"{len(crews)} {'crew' if len(crews) == 1 else 'crews'}"
    scopes = [("", "Workspace", count)]
    scopes += [(c.id, c.slug, ", ".join(members.get(c.id, []))) for c in crews]
    return tuple(_line(scope, snapshots.get(scope[0], []), slugs) for scope in scopes)


def _line(
    scope: tuple[str, str, str],
    rows: Sequence[HealthSnapshot],
    agents: dict[str, str],
) -> CrewLine:
    crew_id, slug, members = scope
    is_known = bool(rows) and rows[-1].score is not None
    costliest = causes.of(rows[-1], agents)[:1] if is_known else []
    return CrewLine(
        crew_id,
        slug,
        members,
        judge(rows),
        tuple(judge(rows, name) for name in metrics.names()),
        line(rows),
        costliest[0] if costliest else None,
    )


def build(actor: Actor, crew_id: str | None, days: int, metric: str) -> Page:
    rows = health.history(actor, days, crew_id)
    crew = workspace_tree.crew(actor, crew_id) if crew_id else None
    scope = crew.id if crew else ""
    now = rows[-1] if rows else None
    titles = {"score": "Score"} | {m.name: m.title for m in metrics.METRICS}
    selected = metric if metric in titles else "score"
    current = accepted.marked(now, causes.of(now)) if now else []
    unaccepted = [cause for cause in current if not cause.accepted]
    listed = repairs.of(actor, now, unaccepted) if now else ()
    cured = {cause for repair in listed for cause in repair.causes}
    return Page(
        crew=crew,
        crews=tuple(workspace_tree.crews(actor)),
        days=days,
        spans=SPANS,
        snapshot=now,
        score=judge(rows),
        metrics=tuple(_card(rows, m) for m in metrics.METRICS) if now else (),
        repairs=listed,
        causes=tuple(cause for cause in unaccepted if cause not in cured),
        accepted=accepted.lines(now, current) if now else (),
        outcomes=tuple(outcomes.latest(actor, scope)),
        selected=selected,
        selected_title=titles[selected],
        lines=((crew.slug if crew else "workspace", line(rows, selected)),),
        failing=tuple(trends.failing_days(rows)),
        events=tuple(trends.events(actor, days, scope))[:8],
        forecasts=tuple(trends.forecasts(rows)),
        table=table(actor, days),
        backfilled=sum(bool(row.details.get("backfilled")) for row in rows),
    )


@dataclass(frozen=True, slots=True)
class HealthPanel:
    """What the first page shows of health."""

    lines: tuple[CrewLine, ...]
    measured_at: datetime | None

    @property
    def chart_lines(self) -> tuple[tuple[str, Points], ...]:
        """The lines of the first three crews, or of the workspace without any."""
        with_points = [row for row in self.lines if row.line]
        crews = [row for row in with_points if row.crew_id]
        return tuple((row.slug, row.line) for row in crews[:3] or with_points)


def panel(actor: Actor) -> HealthPanel:
    """Return the scores of the last thirty days for the first page."""
    lines = table(actor)
    rows = health.history(actor, 30)
    return HealthPanel(lines, rows[-1].computed_at if rows else None)

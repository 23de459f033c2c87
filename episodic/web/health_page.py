"""The context of the health page: immutable values, worded for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from django.utils.translation import gettext, ngettext, pgettext

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
from memory.figures import decimal, formatted
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
        name = self.crew.slug if self.crew else gettext("The workspace")
        if self.snapshot is None and self.crew:
            text = gettext("The health of {crew} has not been measured yet")
            return text.format(crew=name)
        if self.snapshot is None:
            return gettext("The health of this memory has not been measured yet")
        if self.score.value is None:
            text = gettext("{name} holds no memory that could be measured yet")
            return text.format(name=name)
        text = gettext("{name} is {band} at {score}")
        if self.worst:
            text = gettext("{name} is {band} at {score}: {metric} costs it the most")
        return text.format(
            name=name,
            band=self.score.word.lower(),
            score=decimal(self.score.value, 1),
            metric=gettext(self.worst) if self.worst else "",
        )

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
    return Judgement(value, band.colour, gettext(band.title), change)


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
    return MetricCard(
        metric.name, gettext(metric.title), gettext(metric.explanation), judgement,
        weight, points, _note(metric, newest), line(rows, metric.name),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Shown:
    """A number that a format writes with the reader's signs."""

    value: float

    def __format__(self, form: str) -> str:
        return formatted(self.value, form)


def _note(metric: Metric, row: HealthSnapshot) -> str:
    """Return the inputs of a metric in words."""
    details: dict[str, Any] = row.details.get(metric.name, {})
    try:
        return gettext(metric.inputs).format(
            **{name: _shown(value) for name, value in details.items()}
        )
    except KeyError:
        return gettext("too few entries to tell")


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return gettext(value) if value else value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return _Shown(value) if is_number else value


def table(actor: Actor, days: int = 30) -> tuple[CrewLine, ...]:
    """Return the workspace and its crews with their scores and first causes."""
    snapshots = health.by_scope(actor, days)
    members: dict[str, list[str]] = {}
    slugs: dict[str, str] = {}
    for agent in workspace_tree.agents(actor):
        slugs[agent.id] = agent.slug
        members.setdefault(agent.crew_id, []).append(agent.slug)
    crews = workspace_tree.crews(actor)
    count = ngettext("{count} crew", "{count} crews", len(crews))
    scopes = [("", gettext("Workspace"), count.format(count=len(crews)))]
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
    titles = {m.name: gettext(m.title) for m in metrics.METRICS}
    titles = {"score": pgettext("health", "Score")} | titles
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
        lines=((crew.slug if crew else gettext("workspace"), line(rows, selected)),),
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

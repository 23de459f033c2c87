"""The context of the health page: frozen values, worded for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from episodic.health import bands, causes, trends
from episodic.health import snapshots as health
from episodic.health.causes import Cause
from episodic.models import HealthSnapshot
from memory import workspace_tree
from memory.models import Crew
from memory.rules.permissions import Actor

SPANS: Final = (7, 30, 90)
# What changes a metric by itself; proposed rules wait for somebody to approve them.
AT_ONCE: Final = frozenset({"index", "link"})
COLOURS: Final = {
    bands.Band.RED: "red",
    bands.Band.YELLOW: "yellow",
    bands.Band.GREEN: "green",
    bands.Band.NONE: "",
}
Points = tuple[tuple[date, float | None], ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """A number with its band and how far it came in the span."""

    value: float | None
    colour: str
    word: str
    change: float | None


@dataclass(frozen=True, slots=True)
class MetricCard:
    """One of the five, with its inputs in words and its line."""

    name: str
    title: str
    judged: Judged
    weight: float
    points: float | None
    note: str
    line: Points


@dataclass(frozen=True, slots=True)
class CrewLine:
    """The score of a crew or of the workspace, its line and its first cause."""

    crew_id: str
    slug: str
    who: str
    judged: Judged
    metrics: tuple[Judged, ...]
    line: Points
    cause: Cause | None


@dataclass(frozen=True, slots=True)
class Page:
    """Everything the health page shows; without a snapshot only who and when."""

    crew: Crew | None
    crews: tuple[Crew, ...]
    days: int
    spans: tuple[int, ...]
    snapshot: HealthSnapshot | None
    score: Judged
    metrics: tuple[MetricCard, ...]
    causes: tuple[Cause, ...]
    chosen: str
    chosen_title: str
    lines: tuple[tuple[str, Points], ...]
    failing: tuple[date, ...]
    events: tuple[trends.Event, ...]
    forecasts: tuple[trends.Forecast, ...]
    table: tuple[CrewLine, ...]
    backfilled: int

    @property
    def finding(self) -> str:
        """What is true now, in one sentence."""
        name = self.crew.slug if self.crew else "The workspace"
        if self.snapshot is None:
            whose = self.crew.slug if self.crew else "this memory"
            return f"The health of {whose} has not been measured yet"
        if self.score.value is None:
            return f"{name} holds no memory that could be measured yet"
        said = f"{name} is {self.score.word.lower()} at {self.score.value:.1f}"
        worst = self.worst
        return f"{said}: {worst} costs it the most" if worst else said

    @property
    def lost(self) -> float:
        """The points of the score that are missing to 100."""
        return 100 - self.score.value if self.score.value is not None else 0.0

    @property
    def remedy(self) -> Cause | None:
        """The costliest cause that a button here fixes at once."""
        fixes = (one for one in self.causes if one.action.kind in AT_ONCE)
        return next(fixes, None)

    @property
    def event_days(self) -> tuple[date, ...]:
        """The days of the events that are listed."""
        return tuple(event.day for event in self.events)

    @property
    def worst(self) -> str:
        """The metric that costs the most points; empty when none costs any."""
        if self.snapshot is None:
            return ""
        lost = {name: causes.lost(self.snapshot, name) for name in bands.METRICS}
        worst = max(lost, key=lambda name: lost[name])
        return worst if lost[worst] >= causes.LEAST_POINTS else ""


def days(told: str) -> int:
    """Return the span of time that was asked for, 30 when it is none of ours."""
    return int(told) if told in {str(one) for one in SPANS} else 30


def judge(rows: Sequence[HealthSnapshot], name: str = "score") -> Judged:
    """Return the newest value of a metric, its band, and its change over the rows."""
    known = [v for row in rows if (v := getattr(row, name)) is not None]
    value = getattr(rows[-1], name) if rows else None
    band = bands.band(value)
    moved = value is not None and len(known) > 1
    change = round(value - known[0], 1) if moved else None
    return Judged(value, COLOURS[band], band.value.capitalize(), change)


def line(rows: Sequence[HealthSnapshot], name: str = "score") -> Points:
    """Return the values of a metric by day."""
    return tuple((row.date, getattr(row, name)) for row in rows)


def _note(name: str, details: dict[str, Any]) -> str:
    """Return the inputs of a metric in a few words."""
    part = details.get(name, {})
    told = {
        "freshness": "median age {median_days:.1f} days",
        "coverage": "{indexed:,} of {embeddable:,} embeddable",
        "coherence": "{near:.2f} near, {background:.2f} background",
        "efficiency": "mean cosine {mean_cosine:.2f}, {questions} entries replayed",
        "reachability": "{connected:,} of {embeddings:,} have a relation",
    }[name]
    try:
        return told.format(**part)
    except KeyError:
        return "too few entries to tell"


def _card(rows: Sequence[HealthSnapshot], name: str) -> MetricCard:
    now = rows[-1]
    judged = judge(rows, name)
    known = bands.known_weight({one: getattr(now, one) for one in bands.METRICS})
    weight = bands.WEIGHTS[name] / known if judged.value is not None else 0.0
    points = judged.value * weight if judged.value is not None else None
    return MetricCard(
        name, name.capitalize(), judged, weight, points,
        _note(name, now.details), line(rows, name),
    )  # fmt: skip


def table(actor: Actor, days: int = 30) -> tuple[CrewLine, ...]:
    """Return the workspace and its crews with their scores and first causes."""
    found = health.of_all(actor, days)
    members: dict[str, list[str]] = {}
    slugs: dict[str, str] = {}
    for agent in workspace_tree.agents(actor):
        slugs[agent.id] = agent.slug
        members.setdefault(agent.crew_id, []).append(agent.slug)
    crews = workspace_tree.crews(actor)
    count = f"{len(crews)} {'crew' if len(crews) == 1 else 'crews'}"
    named = [("", "Workspace", count)]
    named += [(c.id, c.slug, ", ".join(members.get(c.id, []))) for c in crews]
    return tuple(_line(one, found.get(one[0], []), slugs) for one in named)


def _line(
    named: tuple[str, str, str],
    rows: Sequence[HealthSnapshot],
    agents: dict[str, str],
) -> CrewLine:
    crew_id, slug, who = named
    known = bool(rows) and rows[-1].score is not None
    told = causes.of(rows[-1], agents)[:1] if known else []
    return CrewLine(
        crew_id,
        slug,
        who,
        judge(rows),
        tuple(judge(rows, name) for name in bands.METRICS),
        line(rows),
        told[0] if told else None,
    )


def build(actor: Actor, crew_id: str | None, days: int, metric: str) -> Page:
    """Return the page of the workspace or of one crew."""
    rows = health.history(actor, days, crew_id)
    crew = workspace_tree.crew(actor, crew_id) if crew_id else None
    now = rows[-1] if rows else None
    chosen = metric if metric in bands.METRICS else "score"
    lines = table(actor, days)
    return Page(
        crew=crew,
        crews=tuple(workspace_tree.crews(actor)),
        days=days,
        spans=SPANS,
        snapshot=now,
        score=judge(rows),
        metrics=tuple(_card(rows, name) for name in bands.METRICS) if now else (),
        causes=tuple(causes.of(now)) if now else (),
        chosen=chosen,
        chosen_title=chosen.capitalize(),
        lines=((crew.slug if crew else "workspace", line(rows, chosen)),),
        failing=tuple(trends.failing_days(rows)),
        events=tuple(trends.events(actor, days, crew_id or ""))[:8],
        forecasts=tuple(trends.forecasts(rows)),
        table=lines,
        backfilled=sum(bool(row.details.get("backfilled")) for row in rows),
    )


@dataclass(frozen=True, slots=True)
class Board:
    """What the first page shows of health."""

    lines: tuple[CrewLine, ...]
    measured_at: datetime | None

    @property
    def drawn(self) -> tuple[tuple[str, Points], ...]:
        """The lines of the first three crews, or of the workspace without any."""
        crews = [one for one in self.lines if one.crew_id and one.line]
        chosen = crews[:3] or [one for one in self.lines if one.line]
        return tuple((one.slug, one.line) for one in chosen)


def board(actor: Actor) -> Board:
    """Return the scores of the last thirty days for the first page."""
    found = table(actor)
    rows = health.history(actor, 30)
    return Board(found, rows[-1].computed_at if rows else None)

"""What moved health, and its forecast at the present slope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, timedelta
from typing import Final

from django.db.models import Count, Max
from django.db.models.functions import TruncDate
from django.utils import timezone

from episodic.health import bands
from episodic.health.forecast import Crossing, crossing
from episodic.health.metrics import table as metrics
from episodic.models import HealthSnapshot
from memory.models import JournalEntry
from memory.rules.permissions import Actor

LOOKED_BACK: Final = 14
# Journal entries that move a metric, in words.
EVENTS: Final = {
    "memory.indexed": "Index run by hand",
    "memory.imported": "Import",
    "memory.compacted": "Compaction",
    "memory.consolidated": "Consolidation",
    "memory.erased": "Erasure",
    "memory.health_band_changed": "Band changed",
}


@dataclass(frozen=True, slots=True)
class Event:
    """Something of one day that moved health."""

    day: date
    kind: str
    text: str
    count: int


@dataclass(frozen=True, slots=True)
class Forecast:
    """A limit that a metric or the score will cross when it goes on like this."""

    metric: str
    band: str
    text: str


def events(actor: Actor, days: int, crew_id: str) -> list[Event]:
    """Return what the journal says moved health, by day and kind, newest first."""
    actor.require("journal.read")
    rows = JournalEntry.objects.filter(
        workspace_id=actor.workspace_id, entry_type__in=list(EVENTS)
    )
    if crew_id:
        rows = rows.filter(crew_id=crew_id) | rows.filter(crew_id__isnull=True)
    since = timezone.now() - timedelta(days=days)
    grouped = (
        rows.filter(ts__gte=since)
        .annotate(day=TruncDate("ts", tzinfo=UTC))
        .order_by()
        .values_list("day", "entry_type")
        .annotate(count=Count("pk"), text=Max("summary"))
    )
    days_events = [
        Event(day, EVENTS[kind], text if count == 1 else f"{count} times", count)
        for day, kind, count, text in grouped
    ]
    return sorted(days_events, key=lambda event: (event.day, event.kind), reverse=True)


def failing_days(snapshots: Sequence[HealthSnapshot]) -> list[date]:
    """Return the days whose snapshot found entries that the embedder refused."""
    return [
        snapshot.date
        for snapshot in snapshots
        if any(
            metric.embedder_failed(snapshot.details.get(metric.name, {}))
            for metric in metrics.METRICS
        )
    ]


def forecasts(snapshots: Sequence[HealthSnapshot]) -> list[Forecast]:
    """Return the bands that will change within two weeks at the present slope."""
    recent = list(snapshots)[-LOOKED_BACK:]
    titles = {"score": "The score"} | {m.name: m.title for m in metrics.METRICS}
    forecasts = []
    for name, title in titles.items():
        points = [
            (float(snapshot.date.toordinal()), value)
            for snapshot in recent
            if (value := metrics.value(snapshot, name)) is not None
        ]
        if meets := crossing(points):
            forecasts.append(_forecast(name, title, meets))
    return forecasts


def _forecast(metric: str, title: str, meets: Crossing) -> Forecast:
    falls = meets.slope < 0
    verb = f"falls below {meets.limit:.0f}" if falls else f"reaches {meets.limit:.0f}"
    soon, late = f"{meets.soonest:.0f}", f"{meets.latest:.0f}"
    if meets.latest > 60:
        late = "many"
    when = "in about a day" if meets.days < 1.5 else f"in about {meets.days:.0f} days"
    text = (
        f"{title} {verb} {when} (between {soon} and {late}) if the last "
        f"{meets.points} snapshots go on as they did: {meets.slope:+.1f} a day, and a "
        f"straight line explains {100 * meets.fit:.0f} % of their movement."
    )
    after = meets.limit - 0.1 if falls else meets.limit
    return Forecast(metric, bands.band(after).value, text)

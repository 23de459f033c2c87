"""What moved health, and its forecast at the present slope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, timedelta
from typing import Final

from django.db.models import Count, Max
from django.db.models.functions import TruncDate
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop, ngettext, pgettext

from episodic.health import bands
from episodic.health.forecast import Crossing, crossing
from episodic.health.metrics import table as metrics
from episodic.models import HealthSnapshot
from memory.figures import decimal, formatted
from memory.models import JournalEntry
from memory.rules.permissions import Actor

LOOKED_BACK: Final = 14
# Journal entries that move a metric, in words.
EVENTS: Final = {
    "memory.indexed": gettext_noop("Index run by hand"),
    "memory.imported": gettext_noop("Import"),
    "memory.compacted": gettext_noop("Compaction"),
    "memory.consolidated": gettext_noop("Consolidation"),
    "memory.erased": gettext_noop("Erasure"),
    "memory.health_band_changed": gettext_noop("Band changed"),
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
    title: str
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
        Event(day, gettext(EVENTS[kind]), text if count == 1 else _times(count), count)
        for day, kind, count, text in grouped
    ]
    return sorted(days_events, key=lambda event: (event.day, event.kind), reverse=True)


def _times(count: int) -> str:
    return ngettext("{count} time", "{count} times", count).format(count=count)


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
    titles = {m.name: gettext(m.title) for m in metrics.METRICS}
    titles = {"score": pgettext("health", "Score")} | titles
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
    late = gettext("many") if meets.latest > 60 else decimal(meets.latest, 0)
    text = gettext(
        "{event} (between {soon} and {late}) if the last {points} snapshots go on as "
        "they did: {slope} a day, and a straight line explains {fit} % of their "
        "movement."
    ).format(
        event=_event(metric, title, meets),
        soon=decimal(meets.soonest, 0),
        late=late,
        points=meets.points,
        slope=formatted(meets.slope, "+.1f"),
        fit=decimal(100 * meets.fit, 0),
    )
    after = meets.limit - 0.1 if falls else meets.limit
    return Forecast(metric, title, bands.band(after).value, text)


def _event(metric: str, title: str, meets: Crossing) -> str:
    """Return what will happen and when, as a clause."""
    days = round(meets.days) if meets.days >= 1.5 else 1
    if meets.slope < 0:
        text = ngettext(
            "{metric} falls below {limit} in about a day",
            "{metric} falls below {limit} in about {days} days",
            days,
        )
    else:
        text = ngettext(
            "{metric} reaches {limit} in about a day",
            "{metric} reaches {limit} in about {days} days",
            days,
        )
    name = gettext("The score") if metric == "score" else title
    return text.format(metric=name, limit=decimal(meets.limit, 0), days=days)

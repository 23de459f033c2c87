"""How many entries an agent, or the agents of a crew, left on each day of a year.

Days are those of UTC, weeks begin on a Monday. What people and jobs write about an
agent, such as a look at its held text, is no activity of the agent. Only the newest
LIMIT entries are counted: with more, the calendar begins later.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final

from django.db.models import Count
from django.db.models.functions import TruncDate
from django.utils import timezone

from memory import workspace_tree
from memory.journal import queries
from memory.models import Agent, Crew
from memory.rules.entries import ActorType
from memory.rules.permissions import Actor

WEEKS: Final = 53
LIMIT: Final = 100_000
# Days with entries are in so many steps, about equally many days in each.
STEPS: Final = 4
WRITERS: Final = tuple(
    writer.value
    for writer in ActorType
    if writer not in (ActorType.USER, ActorType.SYSTEM)
)


@dataclass(frozen=True, slots=True)
class Day:
    """A day; ``step`` is 0 without an entry, then from 1 up to STEPS."""

    date: date
    entries: int
    step: int


@dataclass(frozen=True, slots=True)
class Calendar:
    """Weeks of days, oldest first; the last week ends today.

    ``owner`` is whose entries they are. ``limits`` are the most entries of each step
    but the last. ``is_capped`` when the limit was reached and older days are left out.
    """

    owner: Agent | Crew
    weeks: list[list[Day]]
    limits: list[int]
    is_capped: bool

    @property
    def days(self) -> list[Day]:
        """The days with entries, oldest first."""
        return [day for week in self.weeks for day in week if day.entries]

    @property
    def first(self) -> date:
        """The first day that is counted."""
        return self.weeks[0][0].date

    @property
    def entries(self) -> int:
        """The entries of all days."""
        return sum(day.entries for day in self.days)

    @property
    def busiest(self) -> Day | None:
        """The day with the most entries, the newest of several."""
        return max(self.days, key=lambda day: (day.entries, day.date), default=None)


class UtcDate(TruncDate):
    """The UTC date of a moment.

    TruncDate calls Python for each row on SQLite, which takes five times as long;
    moments are stored there as text in UTC that begins with the date.
    """

    def as_sqlite(self, compiler: Any, *_: Any, **__: Any) -> tuple[str, Any]:
        """Return the first ten characters of the column."""
        sql, params = compiler.compile(self.lhs)
        return f"substr({sql}, 1, 10)", params


def of_agent(actor: Actor, agent_id: str) -> Calendar:
    """Return the calendar of an agent; NotFound for another workspace's."""
    return _calendar(actor, workspace_tree.agent(actor, agent_id), agent_id=agent_id)


def of_crew(actor: Actor, crew_id: str) -> Calendar:
    """Return the calendar of a crew's agents; NotFound for another workspace's."""
    crew = workspace_tree.crew(actor, crew_id)
    return _calendar(actor, crew, crew_id=crew_id, agent_id__isnull=False)


def _calendar(actor: Actor, owner: Agent | Crew, **owned: Any) -> Calendar:
    actor.require("journal.read")
    today = timezone.now().astimezone(UTC).date()
    first = today - timedelta(days=today.weekday(), weeks=WEEKS - 1)
    rows = queries.visible_entries(actor).filter(actor_type__in=WRITERS, **owned)
    rows = rows.filter(ts__gte=datetime.combine(first, time(), tzinfo=UTC))
    times = rows.order_by("-ts", "-seq").values_list("ts", flat=True)
    oldest = next(iter(times[LIMIT : LIMIT + 1]), None)
    if oldest is not None:
        # Of the day of the first entry over the limit only a part is within it.
        first = min(oldest.astimezone(UTC).date() + timedelta(days=1), today)
        rows = rows.filter(ts__gte=datetime.combine(first, time(), tzinfo=UTC))
    by_day = rows.order_by().annotate(day=UtcDate("ts", tzinfo=UTC)).values_list("day")
    counts = dict(by_day.annotate(entries=Count("pk")))
    limits = _limits(counts)
    weeks: list[list[Day]] = [[]]
    for number in range((today - first).days + 1):
        day = first + timedelta(days=number)
        if day.weekday() == 0 and weeks[-1]:
            weeks.append([])
        entries = counts.get(day, 0)
        step = 1 + sum(entries > limit for limit in limits) if entries else 0
        weeks[-1].append(Day(day, entries, step))
    return Calendar(owner, weeks, limits, is_capped=oldest is not None)


def _limits(counts: dict[date, int]) -> list[int]:
    """Return the most entries of each step but the last, each larger than the last."""
    sizes = sorted(counts.values())
    if not sizes:
        return []
    parts = (sizes[(len(sizes) - 1) * n // STEPS] for n in range(1, STEPS))
    return sorted({limit for limit in parts if limit < sizes[-1]})

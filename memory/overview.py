"""Figures of the journal and the workspace for the home page and the workspace pages.

Each function needs a fixed number of queries, whatever the number of crews, and returns
frozen values, so that no template queries the database.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone
from django.utils.translation import gettext

from memory import workspace_tree
from memory.journal import queries
from memory.models import Agent, AgentKey, Crew, JournalEntry, OperatorKey
from memory.rules.entries import Severity
from memory.rules.permissions import Actor

DAYS: Final = 7
EXPIRES_SOON: Final = timedelta(days=14)
ESCALATION: Final = "peer.escalation"
HELD: Final = "memory.held"
ALERT_SEVERITIES: Final = (Severity.WARN.value, Severity.ERROR.value)
# The same as in the partial index ``journal_loud``, which only a literal can match.
_IS_ALERT: Final = "journal_entries.severity IN ('warn', 'error')"


@dataclass(frozen=True, slots=True)
class CrewActivity:
    """A crew's recent entries; ``week`` counts seven spans of 24 hours, newest last.

    ``crew_id`` is None for entries without a crew: of people, keys and the system.
    """

    crew_id: str | None
    slug: str
    agents: tuple[str, ...]
    week: tuple[int, ...]
    latest: datetime | None

    @property
    def last_week(self) -> int:
        """The number of entries in the seven days."""
        return sum(self.week)


@dataclass(frozen=True, slots=True)
class Activity:
    """How many entries were ever written, and the recent entries of each crew.

    ``entry_count`` is the last number of the chain, so it counts compacted entries too.
    """

    entry_count: int
    last_day: int
    crews: tuple[CrewActivity, ...]

    @property
    def has_crews(self) -> bool:
        return any(crew.crew_id for crew in self.crews)


@dataclass(frozen=True, slots=True)
class EntryLine:
    """An entry as a short list shows it."""

    id: str
    ts: datetime
    entry_type: str
    severity: str
    summary: str
    agent: str


@dataclass(frozen=True, slots=True)
class Alerts:
    """Counts of warnings and errors; ``entries`` are the latest of them."""

    warnings: int
    errors: int
    entries: tuple[EntryLine, ...]


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An agent with its active keys and its newest entry."""

    agent: Agent
    active_keys: int
    latest: datetime | None


@dataclass(frozen=True, slots=True)
class CrewRow:
    """A crew and its agents, the lead first."""

    crew: Crew
    agents: tuple[AgentRow, ...]


# ── Home page ────────────────────────────────────────────────────────────────
def activity(actor: Actor) -> Activity:
    """Return the size of the journal and the last week, crew by crew."""
    actor.require("journal.read")
    counts = _counts_of(actor, timezone.now())
    return Activity(
        entry_count=queries.chain_length(actor.workspace_id),
        last_day=sum(week[-1] for week in counts.values()),
        crews=tuple(_by_crew(actor, counts)),
    )


def _by_crew(
    actor: Actor, counts: dict[str | None, tuple[int, ...]]
) -> list[CrewActivity]:
    members: dict[str, list[str]] = defaultdict(list)
    for agent in workspace_tree.agents(actor):
        members[agent.crew_id].append(agent.slug)
    quiet = (0,) * DAYS
    activities = [
        CrewActivity(
            crew.id,
            crew.slug,
            tuple(members[crew.id]),
            counts.get(crew.id, quiet),
            latest,
        )
        for crew, latest in _crews_with_latest(actor)
    ]
    crewless = counts.get(None)
    if crewless is not None and any(crewless):
        newest = queries.visible_entries(actor).filter(crew_id__isnull=True)
        last = newest.order_by("-ts").values_list("ts", flat=True).first()
        activities.append(CrewActivity(None, gettext("no crew"), (), crewless, last))
    return activities


def _counts_of(actor: Actor, now: datetime) -> dict[str | None, tuple[int, ...]]:
    """Return crew id → entries in each of the last spans of 24 hours; one query."""
    ends = [now - timedelta(days=back) for back in range(DAYS - 1, -1, -1)]
    day = timedelta(days=1)
    spans = {
        f"span_{i}": Count("pk", filter=Q(ts__gt=end - day, ts__lte=end))
        for i, end in enumerate(ends)
    }
    rows = queries.visible_entries(actor).filter(ts__gt=now - DAYS * day)
    grouped = rows.order_by().values("crew_id").annotate(**spans)
    crew_rows = grouped.values_list("crew_id", *spans)
    return {crew_id: tuple(counts) for crew_id, *counts in crew_rows}


def _latest(**matching: OuterRef) -> Subquery:
    """Return the time of the newest entry that matches the outer row."""
    rows = JournalEntry.objects.filter(**matching).order_by("-ts", "-seq")
    return Subquery(rows.values("ts")[:1])


def _crews_with_latest(actor: Actor) -> list[tuple[Crew, datetime | None]]:
    rows = Crew.objects.filter(workspace_id=actor.workspace_id)
    if actor.is_agent:
        rows = rows.filter(pk=actor.crew_id)
    newest = _latest(workspace_id=OuterRef("workspace_id"), crew_id=OuterRef("pk"))
    return [(crew, crew.latest) for crew in rows.annotate(latest=newest)]


def _entry_lines(rows: QuerySet[JournalEntry], limit: int) -> tuple[EntryLine, ...]:
    readable = rows.filter(erased_at__isnull=True)
    entries = list(readable.order_by("-ts", "-seq")[:limit])
    slugs = workspace_tree.agent_slugs(entries)
    return tuple(
        EntryLine(
            row.id,
            row.ts,
            row.entry_type,
            row.severity,
            row.summary,
            slugs.get(row.agent_id or "", row.actor_type),
        )
        for row in entries
    )


def escalations(actor: Actor, *, limit: int = 6) -> tuple[EntryLine, ...]:
    """Return the newest escalations that are warnings or errors."""
    actor.require("journal.read")
    rows = queries.visible_entries(actor)
    return _entry_lines(
        rows.filter(entry_type=ESCALATION, severity__in=ALERT_SEVERITIES), limit
    )


def alerts(actor: Actor, *, since: datetime, limit: int = 6) -> Alerts:
    """Return the warnings and errors since a moment.

    Escalations have a list of their own, and held texts wait in the quarantine.
    """
    actor.require("journal.read")
    rows = queries.visible_entries(actor).filter(ts__gte=since)
    rows = rows.extra(where=[_IS_ALERT])  # noqa: S610  (a constant)
    rows = rows.exclude(entry_type__in=(ESCALATION, HELD))
    rows = rows.filter(erased_at__isnull=True)
    counts = rows.aggregate(
        warnings=Count("pk", filter=Q(severity=Severity.WARN.value)),
        errors=Count("pk", filter=Q(severity=Severity.ERROR.value)),
    )
    # Newest first they are looked for among all entries.
    lines = _entry_lines(rows, limit) if any(counts.values()) else ()
    return Alerts(counts["warnings"], counts["errors"], lines)


# ── Keys ─────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class ExpiringKeys:
    """How many active keys end within two weeks, and when the first of them does."""

    count: int
    first: datetime | None


def expiring_keys(actor: Actor) -> ExpiringKeys:
    """Return the active keys of agents and people that end within two weeks."""
    if not actor.can("keys.manage"):
        return ExpiringKeys(0, None)
    now = timezone.now()
    ends: list[datetime] = []
    for model in (AgentKey, OperatorKey):
        rows = model.objects.filter(
            workspace_id=actor.workspace_id,
            revoked_at__isnull=True,
            expires_at__gt=now,
            expires_at__lte=now + EXPIRES_SOON,
        )
        ends += [row.expires_at for row in rows.order_by() if row.expires_at]
    return ExpiringKeys(len(ends), min(ends, default=None))


# ── Workspace pages ──────────────────────────────────────────────────────────
def crews(actor: Actor) -> tuple[CrewRow, ...]:
    """Return every crew with its agents, their active keys and their newest entries."""
    actor.require("agents.read")
    newest = _latest(workspace_id=OuterRef("workspace_id"), agent_id=OuterRef("pk"))
    rows = Agent.objects.filter(workspace_id=actor.workspace_id)
    members: dict[str, list[AgentRow]] = defaultdict(list)
    keys = _active_keys(actor)
    annotated = rows.select_related("crew").annotate(latest=newest)
    for agent in annotated.order_by("-role", "slug"):
        row = AgentRow(agent, keys.get(agent.id, 0), agent.latest)
        members[agent.crew_id].append(row)
    crews_shown = workspace_tree.crews(actor)
    return tuple(CrewRow(crew, tuple(members[crew.id])) for crew in crews_shown)


def _active_keys(actor: Actor) -> dict[str, int]:
    """Return agent id → number of active keys."""
    lasting = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
    rows = AgentKey.objects.filter(
        lasting, workspace_id=actor.workspace_id, revoked_at__isnull=True
    )
    counts = rows.order_by().values_list("agent_id").annotate(keys=Count("pk"))
    return dict(counts)

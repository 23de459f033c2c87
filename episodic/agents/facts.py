"""What is known of each agent, and why it stands out.

A fixed number of queries whatever the number of agents. Nothing counts the journal: the
newest entry of each agent is one step in an index, and whether an agent's memory is
recalled is judged by its newest entries alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext_noop

from memory.models import (
    Agent,
    AgentKey,
    HeldFile,
    HeldState,
    JournalEntry,
    MemoryFile,
)
from memory.rules import tiers
from memory.rules.entries import ActorType
from memory.rules.permissions import Actor, AgentRole

SILENT_AFTER: Final = timedelta(days=7)
# Of each agent so many of its newest entries are looked at.
RECALL_SAMPLE: Final = 50
# Before every entry.
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Mark(NamedTuple):
    """Why an agent stands out: its name in an address, a colour and a word."""

    name: str
    colour: str
    word: str


# The worst first.
OVER_CAP: Final = Mark("over_cap", "red", gettext_noop("over a cap"))
EXPIRED: Final = Mark("expired", "red", gettext_noop("every key expired"))
HELD: Final = Mark("held", "yellow", gettext_noop("text held"))
SILENT: Final = Mark("silent", "yellow", gettext_noop("silent for 7 days"))
NO_KEY: Final = Mark("no_key", "yellow", gettext_noop("no key"))
UNWRITTEN: Final = Mark("unwritten", "idle", gettext_noop("never wrote"))
UNRECALLED: Final = Mark("unrecalled", "idle", gettext_noop("not recalled"))
MARKS: Final = (OVER_CAP, EXPIRED, HELD, SILENT, NO_KEY, UNWRITTEN, UNRECALLED)


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """An agent as the list shows it; ``held`` is 0 for who may not read held texts."""

    agent: Agent
    latest: datetime | None
    last_seen: datetime | None
    active_keys: int
    expired_keys: int
    over_cap: int
    held: int
    marks: tuple[Mark, ...]

    @property
    def is_lead(self) -> bool:
        return self.agent.role == AgentRole.LEAD


def facts_of(
    actor: Actor, *, crew_id: str = "", agent_id: str = ""
) -> list[AgentFacts]:
    """Return the agents of the workspace, of a crew, or one, each with its facts."""
    actor.require("agents.read")
    agents = Agent.objects.filter(workspace_id=actor.workspace_id)
    of_agents = Q()
    if crew_id:
        agents = agents.filter(crew_id=crew_id)
        of_agents = Q(agent__crew_id=crew_id)
    if agent_id:
        agents = agents.filter(pk=agent_id)
        of_agents = Q(agent_id=agent_id)
    keys = _keys(actor, of_agents)
    over_cap = _over_cap(actor, of_agents)
    held = _held(actor, of_agents)
    now = timezone.now()
    return [
        _facts(agent, keys.get(agent.id), over_cap, held, now)
        for agent in _with_latest(agents).select_related("crew")
    ]


def _facts(
    agent: Any,
    keys: dict[str, Any] | None,
    over_cap: dict[str, int],
    held: dict[str, int],
    now: datetime,
) -> AgentFacts:
    active = keys["active"] if keys else 0
    expired = keys["expired"] if keys else 0
    times = [agent.latest, keys["used"] if keys else None]
    latest: datetime | None = agent.latest
    holds = {
        OVER_CAP: agent.id in over_cap,
        EXPIRED: bool(expired and not active),
        HELD: agent.id in held,
        SILENT: latest is not None and latest < now - SILENT_AFTER,
        NO_KEY: not active and not expired,
        UNWRITTEN: latest is None,
        UNRECALLED: latest is not None and not agent.is_recalled,
    }
    return AgentFacts(
        agent=agent,
        latest=latest,
        last_seen=max((at for at in times if at is not None), default=None),
        active_keys=active,
        expired_keys=expired,
        over_cap=over_cap.get(agent.id, 0),
        held=held.get(agent.id, 0),
        marks=tuple(mark for mark in MARKS if holds[mark]),
    )


def fallen_silent(actor: Actor, since: datetime) -> QuerySet[Any]:
    """Return the agents that are silent now and were not at a moment before."""
    actor.require("agents.read")
    agents = Agent.objects.filter(workspace_id=actor.workspace_id)
    newest = Subquery(_own_entries().order_by("-ts", "-seq").values("ts")[:1])
    return agents.annotate(latest=newest).filter(
        latest__gte=since - SILENT_AFTER, latest__lt=timezone.now() - SILENT_AFTER
    )


def _own_entries() -> QuerySet[JournalEntry]:
    """Return the entries of the outer agent.

    An entry of a person or a job about the agent, such as a look at its held text, is
    no sign of the agent.
    """
    rows = JournalEntry.objects.filter(
        workspace_id=OuterRef("workspace_id"), agent_id=OuterRef("pk")
    )
    return rows.exclude(actor_type__in=(ActorType.USER, ActorType.SYSTEM))


def _with_latest(agents: QuerySet[Agent]) -> QuerySet[Any]:
    """Add each agent's newest entry, and whether a new one of them was recalled.

    The sample is bounded by its oldest time, not by a limit inside of an IN: there
    SQLite would sort all entries of each agent.
    """
    own = _own_entries()
    times = own.order_by("-ts", "-seq").values("ts")
    oldest = Subquery(times[RECALL_SAMPLE - 1 : RECALL_SAMPLE])
    sample = own.filter(ts__gte=OuterRef("sample_from"))
    return agents.annotate(
        latest=Subquery(times[:1]), sample_from=Coalesce(oldest, Value(EPOCH))
    ).annotate(is_recalled=Exists(sample.filter(embedding__reference_count__gt=0)))


def _keys(actor: Actor, of_agents: Q) -> dict[str, dict[str, Any]]:
    """Return agent id → its keys that work and that expired, and the last use."""
    not_revoked = Q(revoked_at__isnull=True)
    lasting = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
    rows = AgentKey.objects.filter(of_agents, workspace_id=actor.workspace_id)
    grouped = rows.order_by().values("agent_id")
    return {
        row["agent_id"]: {**row}
        for row in grouped.annotate(
            active=Count("pk", filter=not_revoked & lasting),
            expired=Count("pk", filter=not_revoked & ~lasting),
            used=Max("last_used_at"),
        )
    }


def over_cap_files() -> Q:
    """Return the condition of a file that is larger than its tier allows."""
    condition = Q(pk__in=())
    for tier, rule in tiers.RULES.items():
        if rule.cap:
            condition |= Q(tier=tier.value, bytes__gt=rule.cap)
    return condition


def over_cap_agents(actor: Actor) -> list[str]:
    """Return the ids of the agents with a file over its cap."""
    if not actor.can("agents.read"):
        return []
    return list(_over_cap(actor, Q()))


def _over_cap(actor: Actor, of_agents: Q) -> dict[str, int]:
    rows = MemoryFile.objects.filter(
        of_agents,
        over_cap_files(),
        workspace_id=actor.workspace_id,
        agent__isnull=False,
    )
    return _count_by_agent(rows.exclude(sha256=""))


def _held(actor: Actor, of_agents: Q) -> dict[str, int]:
    if not actor.can("quarantine.read"):
        return {}
    rows = HeldFile.objects.filter(
        of_agents, workspace_id=actor.workspace_id, state=HeldState.HELD
    )
    return _count_by_agent(rows.filter(agent__isnull=False))


def _count_by_agent(rows: QuerySet[Any]) -> dict[str, int]:
    counts = rows.order_by().values_list("agent_id").annotate(count=Count("pk"))
    return dict(counts)

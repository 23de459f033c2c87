"""The list of agents: who stands out and why, searched, filtered, sorted, in pages.

A fixed number of queries whatever the number of agents. Nothing counts the journal: the
newest entry of each agent is one step in an index, and whether an agent's memory is
recalled is judged by its newest entries alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from memory.models import (
    Agent,
    AgentKey,
    Crew,
    HeldFile,
    HeldState,
    JournalEntry,
    MemoryFile,
)
from memory.rules import errors, tiers
from memory.rules.permissions import Actor, AgentRole

PAGE: Final = 50
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
OVER_CAP: Final = Mark("over_cap", "red", "over a cap")
EXPIRED: Final = Mark("expired", "red", "every key expired")
HELD: Final = Mark("held", "yellow", "text held")
SILENT: Final = Mark("silent", "yellow", "silent for 7 days")
NO_KEY: Final = Mark("no_key", "yellow", "no key")
UNWRITTEN: Final = Mark("unwritten", "idle", "never wrote")
UNRECALLED: Final = Mark("unrecalled", "idle", "not recalled")
MARKS: Final = (OVER_CAP, EXPIRED, HELD, SILENT, NO_KEY, UNWRITTEN, UNRECALLED)
LEAD: Final = "lead"
# What a list can be narrowed to, with the words of its button.
VIEWS: Final[dict[str, str]] = {
    "": "All",
    OVER_CAP.name: "Over a cap",
    EXPIRED.name: "Every key expired",
    HELD.name: "Text held",
    SILENT.name: "Silent for 7 days",
    NO_KEY.name: "No key",
    UNWRITTEN.name: "Never wrote",
    UNRECALLED.name: "Not recalled",
    LEAD: "Leads",
}
SORTS: Final[dict[str, str]] = {
    "": "What stands out",
    "name": "Name",
    "crew": "Crew",
    "seen": "Last seen",
    "quiet": "Longest silent",
}


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


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFilter:
    """Which agents in which order; empty means all, the worst first."""

    q: str = ""
    crew_id: str = ""
    show: str = ""
    sort: str = ""
    page: int = 1

    def matches(self, facts: AgentFacts) -> bool:
        """Whether it is in the crew, and its names hold every word or ``q`` its id."""
        agent = facts.agent
        if self.crew_id and agent.crew_id != self.crew_id:
            return False
        names = f"{agent.slug} {agent.name} {agent.crew.slug}".casefold()
        words = self.q.casefold().split()
        return words == [agent.id] or all(word in names for word in words)


@dataclass(frozen=True, slots=True)
class View:
    """One of the lists that can be chosen, and how many agents it would show."""

    name: str
    word: str
    count: int


@dataclass(frozen=True, slots=True)
class Counts:
    """How many agents of all that were read have a mark, for the headline."""

    over_cap: int
    expired: int
    silent: int
    unwritten: int


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of agents; ``total`` and ``counts`` are without the filters."""

    rows: tuple[AgentFacts, ...]
    total: int
    matching: int
    page: int
    pages: int
    views: tuple[View, ...]
    counts: Counts

    @property
    def first(self) -> int:
        return (self.page - 1) * PAGE + 1

    @property
    def last(self) -> int:
        return self.first + len(self.rows) - 1

    @property
    def newer(self) -> int | None:
        """The number of the page before this one."""
        return self.page - 1 if self.page > 1 else None

    @property
    def older(self) -> int | None:
        """The number of the page after this one."""
        return self.page + 1 if self.page < self.pages else None


@dataclass(frozen=True, slots=True)
class CrewLine:
    """A crew with the number of its agents, and of those that stand out."""

    crew: Crew
    agents: int
    standing_out: int


def crew_lines(
    crews: Iterable[Crew], rows: Iterable[AgentFacts]
) -> tuple[CrewLine, ...]:
    """Return crews with what their agents add up to."""
    sizes, marked = Counter[str](), Counter[str]()
    for facts in rows:
        sizes[facts.agent.crew_id] += 1
        marked[facts.agent.crew_id] += bool(facts.marks)
    return tuple(CrewLine(crew, sizes[crew.id], marked[crew.id]) for crew in crews)


def listing(
    actor: Actor, filters: AgentFilter, rows: Sequence[AgentFacts] | None = None
) -> Listing:
    """Return a page of agents, of those in ``rows`` when they were read before."""
    if filters.show not in VIEWS:
        raise errors.unknown_value("show", list(VIEWS)[1:])
    if filters.sort not in SORTS:
        raise errors.unknown_value("sort", list(SORTS)[1:])
    every = facts_of(actor) if rows is None else rows
    narrowed = [facts for facts in every if filters.matches(facts)]
    sizes, totals = _counts(narrowed), _counts(every)
    views = [
        View(name, word, sizes[name])
        for name, word in VIEWS.items()
        if name in ("", filters.show) or sizes[name]
    ]
    matching = [facts for facts in narrowed if filters.show in _names(facts)]
    ordered = _ordered(matching, filters.sort)
    pages = max(1, -(-len(ordered) // PAGE))
    page = min(max(1, filters.page), pages)
    return Listing(
        rows=tuple(ordered[(page - 1) * PAGE : page * PAGE]),
        total=len(every),
        matching=len(ordered),
        page=page,
        pages=pages,
        views=tuple(views),
        counts=Counts(
            over_cap=totals[OVER_CAP.name],
            expired=totals[EXPIRED.name],
            silent=totals[SILENT.name],
            unwritten=totals[UNWRITTEN.name],
        ),
    )


def _names(facts: AgentFacts) -> set[str]:
    """Return the names of the lists that an agent is in."""
    names = {"", *(mark.name for mark in facts.marks)}
    return names | {LEAD} if facts.is_lead else names


def _counts(rows: Iterable[AgentFacts]) -> dict[str, int]:
    counts = dict.fromkeys(VIEWS, 0)
    for facts in rows:
        for name in _names(facts):
            counts[name] += 1
    return counts


def _ordered(rows: Iterable[AgentFacts], sort: str) -> list[AgentFacts]:
    by_name = sorted(rows, key=lambda facts: (facts.agent.slug, facts.agent.crew.slug))
    if sort == "crew":
        return sorted(by_name, key=lambda f: (f.agent.crew.slug, not f.is_lead))
    if sort == "seen":
        return sorted(by_name, key=lambda f: f.last_seen or EPOCH, reverse=True)
    if sort == "quiet":
        return sorted(by_name, key=lambda f: f.latest or EPOCH)
    if sort == "name":
        return by_name
    return sorted(by_name, key=_urgency)


def _urgency(facts: AgentFacts) -> tuple[int, int]:
    """Return a key that puts the agent with the worst mark first, then most marks."""
    worst = MARKS.index(facts.marks[0]) if facts.marks else len(MARKS)
    return worst, -len(facts.marks)


# ── Facts ────────────────────────────────────────────────────────────────────
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


def _with_latest(agents: QuerySet[Agent]) -> QuerySet[Any]:
    """Add each agent's newest entry, and whether a new one of them was recalled.

    The sample is bounded by its oldest time, not by a limit inside of an IN: there
    SQLite would sort all entries of each agent.
    """
    own = JournalEntry.objects.filter(
        workspace_id=OuterRef("workspace_id"), agent_id=OuterRef("pk")
    )
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
        row["agent_id"]: row
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

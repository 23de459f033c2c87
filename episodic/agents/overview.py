"""The list of agents: searched, filtered, sorted, in pages, the worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext_noop

from episodic.agents.facts import (
    EPOCH,
    EXPIRED,
    HELD,
    MARKS,
    NO_KEY,
    OVER_CAP,
    SILENT,
    UNRECALLED,
    UNWRITTEN,
    AgentFacts,
    facts_of,
)
from memory.models import Crew
from memory.rules import errors
from memory.rules.permissions import Actor

PAGE: Final = 50
LEAD: Final = "lead"
# What a list can be narrowed to, with the words of its button.
VIEWS: Final[dict[str, str]] = {
    "": gettext_noop("All"),
    OVER_CAP.name: gettext_noop("Over a cap"),
    EXPIRED.name: gettext_noop("Every key expired"),
    HELD.name: gettext_noop("Text held"),
    SILENT.name: gettext_noop("Silent for 7 days"),
    NO_KEY.name: gettext_noop("No key"),
    UNWRITTEN.name: gettext_noop("Never wrote"),
    UNRECALLED.name: gettext_noop("Not recalled"),
    LEAD: gettext_noop("Leads"),
}
SORTS: Final[dict[str, str]] = {
    "": gettext_noop("Worst first"),
    "name": gettext_noop("Name"),
    "crew": gettext_noop("Crew"),
    "seen": gettext_noop("Last seen"),
    "quiet": gettext_noop("Longest silent"),
}


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
    no_key: int
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
            no_key=totals[NO_KEY.name],
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

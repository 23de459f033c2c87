"""One agent, or one crew: what it knows, holds, asked and did lately.

Every read is bounded: of entries the newest ``ENTRY_SAMPLE``, of the rest a short list.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.db.models import Count, Q, QuerySet

from episodic.agents import facts as agent_facts
from episodic.agents.facts import AgentFacts
from episodic.health import bands, causes, snapshots
from episodic.health.causes import Cause
from episodic.models import HealthSnapshot
from episodic.recall import nudges, questions
from episodic.recall.nudges import Cost
from episodic.recall.question_rows import RECALL_LOG
from episodic.recall.questions import QuestionGroup
from memory import workspace_settings, workspace_tree
from memory.files import paths, restricted
from memory.files.listing import FileRow, Usage
from memory.journal import queries
from memory.journal.visibility import USABLE
from memory.models import (
    Agent,
    AgentKey,
    Crew,
    HeldFile,
    HeldState,
    JournalEntry,
    MemoryFile,
    Record,
    RecordStatus,
)
from memory.rules.permissions import Actor

ENTRY_SAMPLE: Final = 1_000
TYPES_LISTED: Final = 8
NEWEST_LISTED: Final = 8
FILES_LISTED: Final = 12
QUESTIONS_LISTED: Final = 5
EVENTS_LISTED: Final = 12
AGENTS_LISTED: Final = 5


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What the newest entries are of; ``is_sample`` when there are more of them."""

    count: int
    is_sample: bool
    types: tuple[tuple[str, int], ...]
    recallable: tuple[JournalEntry, ...]


@dataclass(frozen=True, slots=True)
class Files:
    """Files with their usage, those over a cap first; ``total`` counts all."""

    rows: tuple[FileRow, ...]
    total: int


@dataclass(frozen=True, slots=True)
class HeldCounts:
    """Texts that the scanner held, by what became of them."""

    by_state: tuple[tuple[str, str, int], ...]
    total: int


@dataclass(frozen=True, slots=True)
class Health:
    """A crew's newest score, and the causes that an agent's page repeats."""

    snapshot: HealthSnapshot
    band: str
    causes: tuple[Cause, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """What the pages of an agent and of a crew share.

    ``held`` is None for who may not read held texts. ``questions`` are those that found
    nothing; the log they are read from may be switched off.
    """

    knowledge: Knowledge
    files: Files
    records: int
    held: HeldCounts | None
    questions: tuple[QuestionGroup, ...]
    log_is_on: bool
    health: Health | None
    timeline: tuple[JournalEntry, ...]


@dataclass(frozen=True, slots=True)
class AgentPage:
    """An agent's page; ``keys`` is None for who may not list keys."""

    facts: AgentFacts
    profile: Profile
    keys: tuple[AgentKey, ...] | None
    cost: Cost
    cost_limit: float


@dataclass(frozen=True, slots=True)
class CrewSums:
    """What a crew's agents add up to, and the agents with the most of it first.

    ``cost`` is of the last 24 hours, ``unanswered`` of the whole recall log.
    """

    cost: Cost
    costs: tuple[tuple[Agent, Cost], ...]
    unanswered: int
    askers: tuple[tuple[Agent, int], ...]


@dataclass(frozen=True, slots=True)
class CrewPage:
    """A crew's page; ``rows`` are the facts of all of its agents."""

    crew: Crew
    rows: tuple[AgentFacts, ...]
    leads: tuple[Agent, ...]
    profile: Profile
    sums: CrewSums


def agent_page(actor: Actor, agent_id: str) -> AgentPage:
    """Return the page of an agent of the workspace."""
    actor.require("agents.read")
    agent = workspace_tree.agent(actor, agent_id)
    (facts,) = agent_facts.facts_of(actor, agent_id=agent.id)
    keys = None
    if actor.can("keys.read"):
        rows = AgentKey.objects.filter(workspace_id=actor.workspace_id, agent=agent)
        ordered_rows = sorted(rows, key=lambda key: key.state != "active")
        keys = tuple(ordered_rows)
    return AgentPage(
        facts=facts,
        profile=_profile(actor, Q(agent_id=agent.id), agent.crew_id, agent),
        keys=keys,
        cost=nudges.cost(actor.workspace_id, agent.id),
        cost_limit=workspace_settings.value(actor.workspace_id, nudges.COST_LIMIT),
    )


def crew_page(actor: Actor, crew_id: str) -> CrewPage:
    """Return the page of a crew of the workspace."""
    actor.require("agents.read")
    crew = workspace_tree.crew(actor, crew_id)
    rows = tuple(agent_facts.facts_of(actor, crew_id=crew.id))
    return CrewPage(
        crew=crew,
        rows=rows,
        leads=tuple(facts.agent for facts in rows if facts.is_lead),
        profile=_profile(actor, Q(crew_id=crew.id), crew.id, None),
        sums=_sums(actor, {facts.agent.id: facts.agent for facts in rows}),
    )


def _sums(actor: Actor, agents: Mapping[str, Agent]) -> CrewSums:
    costs = nudges.costs(actor.workspace_id, list(agents))
    by_dollars = sorted(costs.items(), key=lambda item: -item[1].dollars)
    counts = questions.unanswered_counts(list(agents), by=actor)
    by_count = sorted(counts.items(), key=lambda item: -item[1])
    return CrewSums(
        cost=sum(costs.values(), Cost()),
        costs=tuple((agents[pk], cost) for pk, cost in by_dollars[:AGENTS_LISTED]),
        unanswered=sum(counts.values()),
        askers=tuple((agents[pk], count) for pk, count in by_count[:AGENTS_LISTED]),
    )


def _profile(actor: Actor, owned: Q, crew_id: str, agent: Agent | None) -> Profile:
    entries = queries.visible_entries(actor).filter(owned)
    newest = entries.order_by("-ts", "-seq")
    held_rows = HeldFile.objects.filter(owned, workspace_id=actor.workspace_id)
    records = Record.objects.filter(owned, workspace_id=actor.workspace_id)
    return Profile(
        knowledge=_knowledge(newest),
        files=_files(actor, crew_id, agent),
        records=records.filter(status=RecordStatus.CURRENT).count(),
        held=_held(held_rows) if actor.can("quarantine.read") else None,
        questions=_questions(actor, agent) if agent else (),
        log_is_on=workspace_settings.value(actor.workspace_id, RECALL_LOG),
        health=_health(actor, crew_id, agent),
        timeline=tuple(newest.filter(erased_at=None)[:EVENTS_LISTED]),
    )


def _knowledge(newest: QuerySet[JournalEntry]) -> Knowledge:
    """Return the types of the newest entries, and those that recall may return."""
    sample = list(
        newest.values_list(
            "pk", "entry_type", "embeddable", "retired_at", "restricted_at", "erased_at"
        )[: ENTRY_SAMPLE + 1]
    )
    is_sample = len(sample) > ENTRY_SAMPLE
    sample = sample[:ENTRY_SAMPLE]
    usable = [
        pk for pk, _, embeddable, *ends in sample if embeddable and not any(ends)
    ][:NEWEST_LISTED]
    # Read again by id: what was erased between the two reads has no text to show.
    rows = newest.filter(USABLE, pk__in=usable, erased_at=None)
    types = Counter(entry_type for _, entry_type, *_ in sample)
    return Knowledge(
        count=len(sample),
        is_sample=is_sample,
        types=tuple(types.most_common(TYPES_LISTED)),
        recallable=tuple(rows),
    )


def _files(actor: Actor, crew_id: str, agent: Agent | None) -> Files:
    rows = MemoryFile.objects.filter(
        workspace_id=actor.workspace_id, crew_id=crew_id, agent=agent
    ).exclude(sha256="")
    rows = restricted.visible_files(rows, actor)
    total = rows.count()
    over = list(rows.filter(agent_facts.over_cap_files())[:FILES_LISTED])
    other_files = rows.exclude(pk__in=[row.pk for row in over]).order_by("-updated_at")
    lines = [*over, *other_files[: FILES_LISTED - len(over)]]
    owner_id = agent.id if agent else crew_id
    return Files(
        rows=tuple(
            FileRow(
                owner_id,
                row.label,
                Usage(row.bytes, paths.place_of(row).rule.cap),
                row.updated_at,
            )
            for row in lines
        ),
        total=total,
    )


def _held(rows: QuerySet[HeldFile]) -> HeldCounts:
    counts = dict(rows.order_by().values_list("state").annotate(count=Count("pk")))
    by_state = tuple(
        (state.value, str(state.label), counts[state.value])
        for state in HeldState
        if state.value in counts
    )
    return HeldCounts(by_state, sum(counts.values()))


def _questions(actor: Actor, agent: Agent) -> tuple[QuestionGroup, ...]:
    groups = questions.unanswered_groups(agent.id, limit=QUESTIONS_LISTED, by=actor)
    return tuple(groups.items)


def _health(actor: Actor, crew_id: str, agent: Agent | None) -> Health | None:
    """Return the crew's health; for an agent with the causes that name it."""
    try:
        snapshot = snapshots.latest(actor, crew_id)
    except snapshots.NoSnapshot:
        return None
    band = bands.band(snapshot.score).value
    if agent is None:
        return Health(snapshot, band, tuple(causes.of(snapshot)))
    own = re.compile(rf"(?<![\w-]){re.escape(agent.slug)}(?![\w-])")
    # With one agent's name alone, no other agent is named in a title or an address.
    crew_causes = causes.of(snapshot, {agent.id: agent.slug})
    return Health(
        snapshot,
        band,
        tuple(
            cause
            for cause in crew_causes
            if agent.id in cause.action.url or own.search(cause.title)
        ),
    )

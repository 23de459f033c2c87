"""Puts the demo story into the database, once and whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from django.db import transaction
from django.utils import timezone

from crewship_memory import bootstrap
from crewship_memory.demo import load_files, load_people, load_records, story
from crewship_memory.demo.model import DemoEntry
from crewship_memory.startup_progress import Progress, quiet
from memory.accounts import workspaces
from memory.journal import append as journal
from memory.models import Agent, JournalEntry, User, Workspace
from memory.rules.entries import NewEntry, Priority, Severity
from memory.rules.permissions import Actor, AgentRole, Role, system

BATCH: Final = 1_000
HOST: Final = "fairlead.example"
PEOPLE: Final = (
    ("admin", Role.ADMIN),
    ("operator", Role.OPERATOR),
    ("compliance", Role.COMPLIANCE),
    ("viewer", Role.VIEWER),
)
REASON: Final = "Kept for the demo: agents should not lose sight of this."


@dataclass(frozen=True, slots=True)
class Loaded:
    """The demo workspace; ``entries`` is how many were written now, 0 the next time."""

    workspace: Workspace
    admin: User
    entries: int


def is_loaded(workspace: Workspace) -> bool:
    """Whether agents have written here before."""
    rows = JournalEntry.objects.filter(workspace=workspace, agent_id__isnull=False)
    return rows.exists()


def _people(workspace: Workspace) -> dict[Role, User]:
    """Return the demo's four people; only login links let them in."""
    by, people = system(workspace.id, "demo"), {}
    for name, role in PEOPLE:
        people[role], _is_new = bootstrap.person(f"{name}@{HOST}")
        workspaces.set_member(people[role], role, by=by)
    return people


def _agents(by: Actor) -> dict[tuple[str, str], Agent]:
    """Return the story's agents by crew and slug, made when they are missing."""
    agents = {}
    crews = {
        crew.slug: workspaces.ensure_crew(crew.slug, by=by, name=crew.name)[0]
        for crew in story.CREWS
    }
    for agent in story.AGENTS:
        agents[agent.crew, agent.slug], _is_new = workspaces.ensure_agent(
            agent.slug,
            crews[agent.crew],
            by=by,
            name=agent.name,
            role=AgentRole(agent.role),
            walk_depth=agent.walk_depth,
        )
    return agents


def _entry(source: DemoEntry, agent: Agent) -> NewEntry:
    fields = asdict(source)
    for name in ("crew", "agent", "priority"):
        del fields[name]
    fields["severity"] = Severity(source.severity)
    return NewEntry(**fields, crew_id=agent.crew_id, agent_id=agent.id, as_agent=True)


def _prioritise(
    sources: Sequence[DemoEntry], rows: Iterable[JournalEntry], operator: Actor
) -> None:
    for entry, row in zip(sources, rows, strict=True):
        if entry.priority != Priority.NORMAL:
            journal.prioritise(row, Priority(entry.priority), REASON, by=operator)


def _append_story(workspace: Workspace, operator: User) -> int:
    """Write the story down and let the operator mark what matters in it."""
    by = system(workspace.id, "demo")
    agents = _agents(by)
    sources = list(story.entries(timezone.now()))
    news = [_entry(source, agents[source.crew, source.agent]) for source in sources]
    rows: list[JournalEntry] = []
    for batch in (news[at : at + BATCH] for at in range(0, len(news), BATCH)):
        rows += journal.write(batch, by=by)
    actor = Actor(Role.OPERATOR, workspace.id, operator.id, operator.email)
    _prioritise(sources, rows, actor)
    return len(rows)


def load(step: Progress = quiet) -> Loaded:
    """Make the demo workspace with its people and its story, in one transaction."""
    step("Demo: people")
    with transaction.atomic():
        workspace, _is_new = workspaces.ensure_workspace(
            story.WORKSPACE, "Fairlead Outdoor"
        )
        people = _people(workspace)
        count = 0
        if not is_loaded(workspace):
            step("Demo: crews, agents and five weeks of journal")
            count = _append_story(workspace, people[Role.OPERATOR])
    operator = people[Role.OPERATOR]
    by = Actor(Role.OPERATOR, workspace.id, operator.id, operator.email)
    step("Demo: memory files")
    load_files.load(workspace, by)
    step("Demo: records")
    load_records.load(workspace, by)
    officer = people[Role.COMPLIANCE]
    compliance = Actor(Role.COMPLIANCE, workspace.id, officer.id, officer.email)
    step("Demo: personal data and cases")
    load_people.load(workspace, compliance)
    return Loaded(workspace, people[Role.ADMIN], count)

"""Load the demo journal into the database, once, in one transaction."""

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
    """The demo workspace; ``entries`` is how many were appended, 0 if it existed."""

    workspace: Workspace
    admin: User
    entries: int


def is_loaded(workspace: Workspace) -> bool:
    """Whether the demo workspace has journal entries."""
    rows = JournalEntry.objects.filter(workspace=workspace, agent_id__isnull=False)
    return rows.exists()


def _people(workspace: Workspace) -> dict[Role, User]:
    """Return the demo's four users; they sign in by login links only."""
    by, people = system(workspace.id, "demo"), {}
    for name, role in PEOPLE:
        people[role], _is_new = bootstrap.person(f"{name}@{HOST}")
        workspaces.set_member(people[role], role, by=by)
    return people


def _agents(by: Actor) -> dict[tuple[str, str], Agent]:
    """Return the demo's agents by crew and slug, made if missing."""
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
    """Append the entries and set the priorities an operator gave."""
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
    """Make the demo workspace with its users and entries, in one transaction."""
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

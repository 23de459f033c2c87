"""Load the demo workspace, once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from django.db import transaction
from django.utils import timezone

from crewship_memory import bootstrap
from crewship_memory.demo import load_memory, load_people, load_questions, story
from crewship_memory.startup_progress import Progress, quiet
from memory.accounts import workspaces
from memory.journal import append as journal
from memory.models import Agent, JournalEntry, User, Workspace
from memory.rules.entries import Priority
from memory.rules.permissions import Actor, AgentRole, Role, system

WORKSPACE: Final = "fairlead"
HOST: Final = "fairlead.example"
BATCH: Final = 1_000
REASON: Final = "Kept for the demo: agents should not lose sight of this."


@dataclass(frozen=True, slots=True)
class Loaded:
    """The demo workspace; ``entries`` is how many were appended, 0 if it existed."""

    workspace: Workspace
    admin: User
    entries: int


def load(step: Progress = quiet) -> Loaded:
    """Make the demo workspace with its members, and fill what is empty in it."""
    step("Demo: people")
    with transaction.atomic():
        workspace, _is_new = workspaces.ensure_workspace(WORKSPACE, "Fairlead Outdoor")
        admin, by_admin = _member(workspace, Role.ADMIN)
        _operator, by_operator = _member(workspace, Role.OPERATOR)
        _officer, by_officer = _member(workspace, Role.COMPLIANCE)
        _member(workspace, Role.VIEWER)
        count = 0
        rows = JournalEntry.objects.filter(workspace=workspace)
        if not rows.filter(agent_id__isnull=False).exists():
            step("Demo: crews, agents and five weeks of journal")
            count = _append_story(workspace, by_operator)
    step("Demo: memory files")
    load_memory.load_files(workspace, by_operator)
    step("Demo: records")
    load_memory.load_records(workspace, by_operator)
    step("Demo: questions")
    load_questions.load(workspace, by_admin)
    # Last: a plan becomes stale when something about its person is written.
    step("Demo: personal data and cases")
    load_people.load(workspace, officer=by_officer, admin=by_admin)
    return Loaded(workspace, admin, count)


def _member(workspace: Workspace, role: Role) -> tuple[User, Actor]:
    """Return the demo's user of a role, who signs in by login links only."""
    user, _is_new = bootstrap.person(f"{role.value}@{HOST}")
    workspaces.set_member(user, role, by=system(workspace.id, "demo"))
    return user, Actor(role, workspace.id, user.id, user.email)


def _append_story(workspace: Workspace, operator: Actor) -> int:
    """Append the entries and set the priorities an operator gave."""
    by = system(workspace.id, "demo")
    agents = _agents(by)
    rows = list(story.entries(timezone.now()))
    news = [
        replace(
            row.new,
            agent_id=agents[row.agent].id,
            crew_id=agents[row.agent].crew_id,
            as_agent=True,
        )
        for row in rows
    ]
    entries: list[JournalEntry] = []
    for start in range(0, len(news), BATCH):
        entries += journal.write(news[start : start + BATCH], by=by)
    for row, entry in zip(rows, entries, strict=True):
        if row.priority != Priority.NORMAL:
            journal.prioritise(entry, row.priority, REASON, by=operator)
    return len(entries)


def _agents(by: Actor) -> dict[str, Agent]:
    """Return the demo's agents by slug, made if missing."""
    data = story.document("cast.toml", timezone.now().date())
    crews = {
        row["slug"]: workspaces.ensure_crew(row["slug"], by=by, name=row["name"])[0]
        for row in data["crew"]
    }
    agents = {}
    for row in data["agent"]:
        agents[row["slug"]], _is_new = workspaces.ensure_agent(
            row["slug"],
            crews[row["crew"]],
            by=by,
            name=row["name"],
            role=AgentRole(row["role"]),
            walk_depth=row["walk_depth"],
        )
    return agents

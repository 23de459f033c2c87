"""Find memory files by owner and label for API and tools, and list the tree."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from memory import workspace_tree
from memory.files import paths, reading, restricted, writer
from memory.files.paths import Owner
from memory.files.writer import WriteResult
from memory.models import Agent, Crew, HeldFile, HeldState, MemoryFile, MemoryVersion
from memory.rules import errors, tiers
from memory.rules.permissions import Actor
from memory.rules.tiers import Place


@dataclass(frozen=True, slots=True)
class Branch:
    """A crew with its shared files, and each of its agents' own."""

    crew: Crew
    files: list[MemoryFile]
    agents: list[tuple[Agent, list[MemoryFile]]]


@dataclass(frozen=True, slots=True)
class Tree:
    """The files the actor may see; ``held``: (crew, agent, label) with a held text."""

    branches: list[Branch]
    held: frozenset[tuple[str | None, str | None, str]]

    def is_held(self, file: MemoryFile) -> bool:
        """Whether a newer text for this file is held for review."""
        return (file.crew_id, file.agent_id, file.label) in self.held


def owner(actor: Actor, *, agent_id: str | None, crew_id: str | None) -> Owner:
    """Return the owner of the given ids; an agent without ids means itself."""
    if actor.is_agent and agent_id is None and crew_id is None:
        agent_id = actor.id
    if agent_id is not None:
        target = paths.agent_owner(actor.workspace_id, agent_id)
        if crew_id not in (None, target.crew.id):
            raise errors.NotFound
        if actor.is_agent and agent_id != actor.id:
            raise errors.NotFound
        return target
    if crew_id is None:
        detail = "Name the agent_id or the crew_id whose file this is."
        raise errors.Invalid(detail, code="owner_required")
    crew = workspace_tree.crew(actor, crew_id)
    return Owner(Crew.objects.select_related("workspace").get(pk=crew.pk))


def place(label: str, owner: Owner) -> Place:
    """Return the tier and key of a label that the owner can have, or NotFound."""
    place_ = paths.refuse_unknown(tiers.split(label))
    if owner.agent is None and not place_.rule.shared:
        raise errors.NotFound
    return place_


def tree(
    actor: Actor, *, agent_id: str | None = None, crew_id: str | None = None
) -> Tree:
    """Return the files the actor may see, by crew and agent."""
    actor.require("files.read")
    crews = workspace_tree.crews(actor)
    agents = workspace_tree.agents(actor)
    if actor.is_agent:
        agents = [agent for agent in agents if agent.id == actor.id]
    if agent_id is not None:
        target_agent = workspace_tree.agent(actor, agent_id)
        agents = [agent for agent in agents if agent.id == target_agent.id]
        crews = [crew for crew in crews if crew.id == target_agent.crew_id]
    if crew_id is not None:
        workspace_tree.crew(actor, crew_id)
        crews = [crew for crew in crews if crew.id == crew_id]
    rows = MemoryFile.objects.filter(workspace_id=actor.workspace_id)
    by_owner: dict[tuple[str, str | None], list[MemoryFile]] = defaultdict(list)
    visible = restricted.visible_files(rows.exclude(sha256=""), actor)
    for row in visible.order_by("label"):
        by_owner[row.crew_id, row.agent_id].append(row)
    branches = [
        Branch(
            crew,
            by_owner[crew.id, None],
            [(a, by_owner[crew.id, a.id]) for a in agents if a.crew_id == crew.id],
        )
        for crew in crews
    ]
    held_places = HeldFile.objects.filter(
        workspace_id=actor.workspace_id, state=HeldState.HELD
    ).values_list("crew_id", "agent_id", "label")
    return Tree(branches, frozenset(held_places))


def text(owner: Owner, label: str, *, by: Actor) -> reading.Text:
    """Return a file's text, or NotFound."""
    content = reading.read(owner, place(label, owner), by=by)
    if not content.exists:
        raise errors.NotFound
    return content


def file(owner: Owner, label: str, *, by: Actor) -> MemoryFile:
    """Return a file's row, also that of a removed file, or NotFound."""
    reading.permit(owner, by)
    where = place(label, owner)
    row = paths.row_of(owner, where)
    if row is None or restricted.is_hidden(where, owner.workspace_id, by):
        raise errors.NotFound
    return row


def version(file: MemoryFile, sha256: str) -> MemoryVersion:
    """Return the newest version of a file that has these bytes, or NotFound."""
    rows = file.versions.filter(sha256=sha256, committed=True)
    row = rows.exclude(sha256="").order_by("-number").first()
    if row is None:
        raise errors.NotFound
    return row


def restore(file: MemoryFile, sha256: str, *, by: Actor) -> WriteResult:
    """Restore a version as a new one, with all checks of a write; for operators."""
    by.require("files.restore", file.workspace_id)
    return writer.restore(file, version(file, sha256), by=by)

"""Owners of memory files and their paths below the root."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory.models import Agent, Crew, MemoryFile
from memory.rules import errors, tiers
from memory.rules.tiers import Place
from memory.stored_files import trees
from memory.stored_files.store import RootLost, Store


@dataclass(frozen=True, slots=True)
class Owner:
    """A crew's shared tree, or one agent's tree when ``agent`` is given."""

    crew: Crew
    agent: Agent | None = None

    @property
    def workspace_id(self) -> str:
        return self.crew.workspace_id

    @property
    def agent_id(self) -> str | None:
        """The agent's id, None for the crew."""
        return self.agent.id if self.agent else None

    @property
    def id(self) -> str:
        """The id that names it in an address."""
        return self.agent_id or self.crew.id

    @property
    def name(self) -> str:
        """What people read."""
        return self.agent.slug if self.agent else f"{self.crew.slug}, shared"

    def of(self, place: Place) -> Owner:
        """Return the owner of a place: the crew for a shared tier."""
        return Owner(self.crew) if place.rule.shared else self

    def parts(self, place: Place | None = None) -> tuple[str, ...]:
        """Return the path below the root of the files, of the tree or of one file."""
        tree: tuple[str, ...] = (self.crew.workspace.slug, self.crew.slug)
        if self.agent is None:
            tree = (*tree, "shared")
        else:
            tree = (*tree, "agents", self.agent.slug)
        return tree if place is None else (*tree, *place.parts)

    def path(self, place: Place) -> str:
        """Return the path as text, the file's name in the database."""
        return "/".join(self.parts(place))


def file_store() -> Store:
    """Return the storage of the live files."""
    return trees.tree(trees.FILES)


def require_tree(slug: str) -> None:
    """Raise RootLost when the whole folder of a workspace is gone.

    Removing single files leaves the folder; a missing folder is a fault, no removal.
    """
    if not file_store().has_folder((slug,)):
        raise RootLost(label=f"files/{slug}")


def owner_of_agent(agent: Agent) -> Owner:
    return Owner(agent.crew, agent)


def agent_owner(workspace_id: str, agent_id: str) -> Owner:
    """Return an agent of a workspace as an owner of files, or raise NotFound."""
    agents = Agent.objects.select_related("crew__workspace")
    agent = agents.filter(pk=agent_id, workspace_id=workspace_id).first()
    if agent is None:
        raise errors.NotFound
    return owner_of_agent(agent)


def row_of(owner: Owner, place: Place) -> MemoryFile | None:
    """Return a file's row, None when there never was one."""
    rows = MemoryFile.objects.select_related("crew__workspace", "agent")
    path = owner.of(place).path(place)
    return rows.filter(workspace_id=owner.workspace_id, path=path).first()


def owner_of(file: MemoryFile) -> Owner:
    return Owner(file.crew, file.agent)


def parts_of(file: MemoryFile) -> tuple[str, ...]:
    """Return a file's path below the root."""
    return tuple(file.path.split("/"))


def place_of(file: MemoryFile) -> Place:
    """Return a file's tier and key."""
    return Place(tiers.Tier(file.tier), file.key)


def locate(parts: Sequence[str]) -> tuple[Owner, Place] | None:
    """Return owner and place of a path below the root; None for an unknown path."""
    # Slugs and labels are ASCII, and a database does not take lone surrogates.
    if len(parts) < 4 or not all(part.isascii() for part in parts):
        return None
    workspace, crew_slug, kind, *rest = parts
    crews = Crew.objects.select_related("workspace")
    crew = crews.filter(workspace__slug=workspace, slug=crew_slug).first()
    if crew is None:
        return None
    owner = Owner(crew)
    if kind == "agents":
        agent = Agent.objects.filter(crew=crew, slug=rest[0]).first()
        if agent is None:
            return None
        agent.crew = crew
        owner, rest = Owner(crew, agent), rest[1:]
    elif kind != "shared":
        return None
    place = tiers.split("/".join(rest))
    if place is None or place.rule.shared is not (owner.agent is None):
        return None
    return owner, place


def refuse_unknown(place: Place | None) -> Place:
    """Return the place a label named, or raise NotFound."""
    if place is None:
        raise errors.NotFound
    return place

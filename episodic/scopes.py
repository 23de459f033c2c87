"""Whose memory a recall may reach.

An agent reaches its own entries (``own``) or its crew's and its own (``crew_shared``);
a lead starts with the crew. The rules that people approved for its crew belong to every
agent of the crew, so ``own`` includes them. A person may name an agent and sees what it
would, may name a crew, or names nobody and reaches the workspace. Ids in a body are
checked here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.utils.translation import gettext

from memory import workspace_tree
from memory.journal import visibility
from memory.models import JournalEntry
from memory.rules import errors
from memory.rules.entries import RULE_TYPE
from memory.rules.permissions import Actor, AgentRole


class Scope(StrEnum):
    """The two scopes of an agent."""

    OWN = "own"
    CREW_SHARED = "crew_shared"


@dataclass(frozen=True, slots=True)
class Reach:
    """What may be read: crew and agent are OR-ed, both None is the workspace.

    ``rules_crew_id`` adds the approved rules of a crew, and nothing else of it.
    """

    workspace_id: str
    scope: str
    crew_id: str | None = None
    agent_id: str | None = None
    walk_depth: int = 0
    rules_crew_id: str | None = None

    def load(self, entry_ids: Sequence[str]) -> dict[str, JournalEntry]:
        """Return the named entries inside the reach that may be used.

        The rows are fetched by id and judged here: with the reach in the SQL, SQLite
        would scan the workspace's whole index instead of looking up a few ids.
        """
        rows = visibility.usable_entries(entry_ids)
        return {row.id: row for row in rows if self.sees(row)}

    def sees(self, entry: JournalEntry) -> bool:
        """Whether one entry lies inside the reach."""
        if entry.workspace_id != self.workspace_id:
            return False
        if self.crew_id is None and self.agent_id is None:
            return True
        by_agent = self.agent_id is not None and entry.agent_id == self.agent_id
        by_crew = self.crew_id is not None and entry.crew_id == self.crew_id
        return by_agent or by_crew or self._is_rule(entry)

    def _is_rule(self, entry: JournalEntry) -> bool:
        """Whether an entry is an approved rule of the crew whose rules are in reach.

        A run that found no rule leaves an entry of the same type, with a count of 0.
        """
        return (
            self.rules_crew_id is not None
            and entry.entry_type == RULE_TYPE
            and entry.crew_id == self.rules_crew_id
            and entry.agent_id is None
            and entry.payload.get("rules_count") != 0
        )


def reach(
    scope: str | None, crew_id: str | None, agent_id: str | None, *, by: Actor
) -> Reach:
    """Return what the caller may read; NotFound for ids of another workspace."""
    if agent_id is not None and not by.is_agent:
        by.require("recall.ask_as_agent")
    names_owner = agent_id is not None or (crew_id is not None and scope != Scope.OWN)
    if scope is not None and not names_owner and not by.is_agent:
        detail = gettext(
            "The scope {scope} needs an agent_id, or a crew_id for crew_shared."
        )
        raise errors.Invalid(detail.format(scope=scope), code="scope_needs_agent")
    crew = workspace_tree.crew(by, crew_id) if crew_id is not None else None
    agent = workspace_tree.agent(by, agent_id) if agent_id is not None else None
    if by.is_agent:
        if agent is not None and agent.id != by.id:
            raise errors.Forbidden(role=by.role.value, action="recall.ask_as_agent")
        return _of_agent(by.id, scope, by.agent_role, by.crew_id, by.walk_depth, by)
    if agent is not None:
        if crew is not None and crew.id != agent.crew_id:
            detail = gettext("The agent is not in this crew.")
            raise errors.Invalid(detail, code="not_in_crew")
        role, depth = AgentRole(agent.role), agent.memory_walk_depth
        return _of_agent(agent.id, scope, role, agent.crew_id, depth, by)
    if crew is not None:
        return Reach(by.workspace_id, Scope.CREW_SHARED.value, crew.id)
    return Reach(by.workspace_id, "workspace")


def _of_agent(
    agent_id: str,
    scope: str | None,
    role: AgentRole | None,
    crew_id: str | None,
    walk_depth: int,
    by: Actor,
) -> Reach:
    """Return what an agent reaches; without a ``scope`` its role's."""
    is_shared = Scope(scope) is Scope.CREW_SHARED if scope else role is AgentRole.LEAD
    return Reach(
        workspace_id=by.workspace_id,
        scope=(Scope.CREW_SHARED if is_shared else Scope.OWN).value,
        crew_id=crew_id if is_shared else None,
        agent_id=agent_id,
        walk_depth=walk_depth,
        rules_crew_id=crew_id,
    )

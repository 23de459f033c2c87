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

from memory import workspace_tree
from memory.journal.visibility import USABLE
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
        usable = JournalEntry.objects.filter(USABLE, erased_at__isnull=True)
        rows = usable.filter(pk__in=entry_ids)
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


def _default(role: AgentRole | None) -> Scope:
    return Scope.CREW_SHARED if role is AgentRole.LEAD else Scope.OWN


def _agent_reach(
    workspace_id: str, scope: Scope, crew_id: str | None, agent_id: str, depth: int
) -> Reach:
    crew = crew_id if scope is Scope.CREW_SHARED else None
    return Reach(workspace_id, scope.value, crew, agent_id, depth, crew_id)


def _as_agent(
    scope: str | None, crew_id: str | None, agent_id: str, by: Actor
) -> Reach:
    """Return what a named agent would reach, for a person."""
    by.require("recall.ask_as_agent")
    agent = workspace_tree.agent(by, agent_id)
    if crew_id is not None and workspace_tree.crew(by, crew_id).id != agent.crew_id:
        raise errors.Invalid("The agent is not in this crew.", code="not_in_crew")
    agent_scope = Scope(scope) if scope else _default(AgentRole(agent.role))
    depth = agent.memory_walk_depth
    return _agent_reach(by.workspace_id, agent_scope, agent.crew_id, agent.id, depth)


def _as_person(scope: str | None, crew_id: str | None, by: Actor) -> Reach:
    if crew_id is not None and scope != Scope.OWN:
        crew = workspace_tree.crew(by, crew_id)
        return Reach(by.workspace_id, Scope.CREW_SHARED.value, crew.id)
    if scope is not None:
        detail = f"The scope {scope} needs an agent_id, or a crew_id for crew_shared."
        raise errors.Invalid(detail, code="scope_needs_agent")
    return Reach(by.workspace_id, "workspace")


def reach(
    scope: str | None, crew_id: str | None, agent_id: str | None, *, by: Actor
) -> Reach:
    """Return what the caller may read; NotFound for ids of another workspace."""
    if not by.is_agent:
        if agent_id is not None:
            return _as_agent(scope, crew_id, agent_id, by)
        return _as_person(scope, crew_id, by)
    if crew_id is not None:
        workspace_tree.crew(by, crew_id)
    if agent_id is not None and workspace_tree.agent(by, agent_id).id != by.id:
        raise errors.Forbidden(role=by.role.value, action="recall.ask_as_agent")
    agent_scope = Scope(scope) if scope else _default(by.agent_role)
    return _agent_reach(by.workspace_id, agent_scope, by.crew_id, by.id, by.walk_depth)

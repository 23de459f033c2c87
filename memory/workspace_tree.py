"""Access functions and lists of a workspace's crews, agents, people and keys.

A row of another workspace and a row that does not exist are the same answer: NotFound.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q

from memory import lookup
from memory.models import (
    Agent,
    AgentKey,
    Crew,
    JournalEntry,
    Membership,
    OperatorKey,
    Workspace,
)
from memory.rules.permissions import Actor


def workspace(actor: Actor) -> Workspace:
    return lookup.required(Workspace.objects.all(), pk=actor.workspace_id)


def crews(actor: Actor) -> list[Crew]:
    """Return the crews of the workspace; to an agent its own."""
    rows = Crew.objects.filter(workspace_id=actor.workspace_id)
    return list(rows.filter(pk=actor.crew_id) if actor.is_agent else rows)


def crew(actor: Actor, crew_id: str) -> Crew:
    """Return a crew; an agent gets its own crew only."""
    rows = Crew.objects.filter(workspace_id=actor.workspace_id)
    if actor.is_agent:
        rows = rows.filter(pk=actor.crew_id)
    return lookup.required(rows, pk=crew_id)


def agents(actor: Actor) -> list[Agent]:
    """Return the agents of the workspace with their crews; to an agent its crew's."""
    rows = Agent.objects.filter(workspace_id=actor.workspace_id).select_related("crew")
    if actor.is_agent:
        rows = rows.filter(crew_id=actor.crew_id)
    return list(rows.order_by("crew__slug", "-role", "slug"))


def agent(actor: Actor, agent_id: str) -> Agent:
    """Return an agent; an agent gets its own crew's agents only."""
    rows = Agent.objects.filter(workspace_id=actor.workspace_id).select_related("crew")
    if actor.is_agent:
        rows = rows.filter(crew_id=actor.crew_id)
    return lookup.required(rows, pk=agent_id)


def members(actor: Actor) -> list[Membership]:
    actor.require("members.read")
    rows = Membership.objects.filter(workspace_id=actor.workspace_id)
    return list(rows.select_related("user").order_by("user__email"))


def member(actor: Actor, member_id: str) -> Membership:
    actor.require("members.read")
    rows = Membership.objects.filter(workspace_id=actor.workspace_id)
    return lookup.required(rows.select_related("user"), pk=member_id)


def keys(actor: Actor) -> list[AgentKey | OperatorKey]:
    """Return every key of the workspace, newest first."""
    actor.require("keys.read")
    in_workspace = Q(workspace_id=actor.workspace_id)
    rows: list[AgentKey | OperatorKey] = [
        *AgentKey.objects.filter(in_workspace).select_related("agent"),
        *OperatorKey.objects.filter(in_workspace).select_related("user"),
    ]
    return sorted(rows, key=lambda key: key.created_at, reverse=True)


def key(actor: Actor, key_id: str) -> AgentKey | OperatorKey:
    """Return a key of the workspace, of either kind."""
    actor.require("keys.read")
    by_id = Q(pk=key_id, workspace_id=actor.workspace_id)
    agent_key = AgentKey.objects.select_related("agent").filter(by_id).first()
    if agent_key is not None:
        return agent_key
    return lookup.required(OperatorKey.objects.select_related("user").filter(by_id))


def agent_slugs(entries: Sequence[JournalEntry]) -> dict[str, str]:
    """Return agent id → slug for the agents behind some entries."""
    agent_ids = {row.agent_id for row in entries if row.agent_id}
    rows = Agent.objects.filter(pk__in=agent_ids)
    return dict(rows.values_list("id", "slug"))

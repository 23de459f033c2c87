"""The workspace over the API: the caller, the crews and the agents."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone
from ninja import Router, Schema
from pydantic import Field

from memory import workspace_tree
from memory.api.request import ApiRequest
from memory.models import Agent, Crew

router = Router(tags=["workspace"])


class AgentOut(Schema):
    """An agent of the workspace."""

    id: str
    slug: str
    name: str
    role: str
    crew_id: str
    crew: str = Field(validation_alias="crew.slug")
    memory_walk_depth: int


class CrewOut(Schema):
    """A crew of the workspace."""

    id: str
    slug: str
    name: str


class MeOut(Schema):
    """The actor of the credential."""

    role: str
    workspace_id: str
    workspace: str
    id: str
    label: str
    crew_id: str | None
    agent_role: str | None
    scopes: list[str]
    server_time: datetime


@router.get("/me", response=MeOut, operation_id="whoami")
def whoami(request: ApiRequest) -> dict[str, Any]:
    """Return the actor of the credential."""
    actor = request.auth
    return {
        "role": actor.role,
        "workspace_id": actor.workspace_id,
        "workspace": workspace_tree.workspace(actor).slug,
        "id": actor.id,
        "label": actor.label,
        "crew_id": actor.crew_id,
        "agent_role": actor.agent_role,
        "scopes": sorted(actor.scopes),
        "server_time": timezone.now(),
    }


@router.get("/crews", response=list[CrewOut], operation_id="list_crews")
def list_crews(request: ApiRequest) -> list[Crew]:
    """List the crews that the caller may name."""
    return workspace_tree.crews(request.auth)


@router.get("/agents", response=list[AgentOut], operation_id="list_agents")
def list_agents(request: ApiRequest) -> list[Agent]:
    """List the agents that the caller may name."""
    return workspace_tree.agents(request.auth)

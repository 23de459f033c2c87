"""Issue API keys from the command line, making the crew, agent or person if missing.

What exists is never changed on the way: a key that could not do what was asked for is
refused, with the reason, and nothing is left behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction

from crewship_memory import bootstrap
from memory.accounts import api_keys, invitations, workspaces
from memory.accounts.api_keys import Issued
from memory.models import Agent, Crew, Membership, User, Workspace
from memory.rules import errors
from memory.rules.permissions import Actor, AgentRole, Role, system


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRequest:
    """A key for an agent (crew and agent) or for a person (email)."""

    workspace: str
    crew: str | None = None
    agent: str | None = None
    email: str | None = None
    end_user: str | None = None
    role: str | None = None
    create: bool = False


def _not_found(noun: str) -> errors.NotFound:
    return errors.NotFound(f"There is no {noun}; --create makes it.")


def _workspace(key_request: KeyRequest) -> Workspace:
    workspace = Workspace.objects.filter(slug=key_request.workspace).first()
    if workspace is None and key_request.create:
        workspace, _is_new = workspaces.ensure_workspace(key_request.workspace)
    if workspace is None:
        raise _not_found(f"workspace {key_request.workspace!r}")
    return workspace


def _agent(
    key_request: KeyRequest, workspace: Workspace, role: AgentRole | None, by: Actor
) -> Agent:
    crew_slug, slug = key_request.crew or "", key_request.agent or ""
    crew = Crew.objects.filter(workspace=workspace, slug=crew_slug).first()
    if crew is None:
        if not key_request.create:
            raise _not_found(f"crew {crew_slug!r} in {workspace.slug}")
        crew, _is_new = workspaces.ensure_crew(crew_slug, by=by)
    agent = Agent.objects.filter(crew=crew, slug=slug).first()
    if agent is None:
        if not key_request.create:
            raise _not_found(f"agent {slug!r} in crew {crew_slug!r}")
        agent, _is_new = workspaces.ensure_agent(
            slug, crew, by=by, role=role or AgentRole.AGENT
        )
    if role is not None and agent.role != role.value:
        raise errors.Conflict(
            f"{slug} is {agent.role} in crew {crew_slug}; change that first."
        )
    return agent


def _member(
    key_request: KeyRequest, workspace: Workspace, role: Role, by: Actor
) -> User:
    """Return the user, whose membership must have the key's role."""
    email = invitations.checked_email(key_request.email or "")
    rows = Membership.objects.filter(workspace=workspace, user__email=email)
    member = rows.select_related("user").first()
    if member is None:
        if not key_request.create:
            raise _not_found(f"member {email} in {workspace.slug}")
        # Refused when somebody else's link opened the account: its owner accepts an
        # invitation first.
        user, _is_new = bootstrap.person(email)
        return workspaces.set_member(user, role, by=by).user
    enough = Role(member.role) in (Role.ADMIN, role) or role is Role.VIEWER
    if not enough:
        raise errors.Conflict(
            f"{email} is {member.role} in {workspace.slug}: "
            f"a key of theirs cannot act as {role.value}."
        )
    return member.user


def _role(key_request: KeyRequest, kind: type[AgentRole] | type[Role]) -> Any:
    """Return the requested role, None for none. Agents and people have other roles."""
    if key_request.role is None:
        return None
    allowed = [r.value for r in kind if r.value not in ("agent", "system")]
    for name in allowed:
        if name.lower() == key_request.role.lower():
            return kind(name)
    raise errors.Invalid(f"--role is one of {', '.join(allowed)} here.")


def _check(key_request: KeyRequest) -> None:
    for_agent = key_request.crew is not None or key_request.agent is not None
    if for_agent and (key_request.crew is None or key_request.agent is None):
        raise errors.Invalid("--crew and --agent go together.")
    if key_request.end_user is not None and not for_agent:
        raise errors.Invalid("--end-user goes with --crew and --agent.")
    if for_agent == (key_request.email is not None):
        raise errors.Invalid("Name either --crew and --agent, or --email.")


def issue(key_request: KeyRequest) -> Issued:
    """Issue one key; its token is readable only in this return value."""
    _check(key_request)
    for_agent = key_request.email is None
    role = _role(key_request, AgentRole if for_agent else Role)
    with transaction.atomic():
        workspace = _workspace(key_request)
        by = system(workspace.id, "issue_key")
        if for_agent:
            agent = _agent(key_request, workspace, role, by)
            end_user = key_request.end_user or ""
            return api_keys.issue_agent_key(agent, by=by, end_user=end_user)
        user = _member(key_request, workspace, role or Role.OPERATOR, by)
        return api_keys.issue_operator_key(user, role or Role.OPERATOR, by=by)

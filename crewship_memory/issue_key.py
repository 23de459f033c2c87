"""Keys from the command line: find, or make, whom a key is for, and issue it.

What exists is never changed on the way: a key that could not do what was asked for is
refused, with the reason, and nothing is left behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction

from crewship_memory import bootstrap
from memory.accounts import api_keys, workspaces
from memory.accounts.api_keys import Issued
from memory.models import Agent, Crew, Membership, User, Workspace
from memory.rules import errors
from memory.rules.permissions import AgentRole, Role, system


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What was asked for: an agent's key (crew and agent) or a person's (email)."""

    workspace: str
    crew: str | None = None
    agent: str | None = None
    email: str | None = None
    end_user: str | None = None
    role: str | None = None
    create: bool = False


def _missing(what: str) -> errors.NotFound:
    return errors.NotFound(f"There is no {what}; --create makes it.")


def _workspace(wanted: Wanted) -> Workspace:
    found = Workspace.objects.filter(slug=wanted.workspace).first()
    if found is None and wanted.create:
        found, _made = workspaces.ensure_workspace(wanted.workspace)
    if found is None:
        raise _missing(f"workspace {wanted.workspace!r}")
    return found


def _agent(wanted: Wanted, workspace: Workspace, role: AgentRole | None) -> Agent:
    by = system(workspace.id, "issue_key")
    crew_slug, slug = wanted.crew or "", wanted.agent or ""
    crew = Crew.objects.filter(workspace=workspace, slug=crew_slug).first()
    if crew is None:
        if not wanted.create:
            raise _missing(f"crew {crew_slug!r} in {workspace.slug}")
        crew, _made = workspaces.ensure_crew(crew_slug, by=by)
    agent = Agent.objects.filter(crew=crew, slug=slug).first()
    if agent is None:
        if not wanted.create:
            raise _missing(f"agent {slug!r} in crew {crew_slug!r}")
        agent, _made = workspaces.ensure_agent(
            slug, crew, by=by, role=role or AgentRole.AGENT
        )
    if role is not None and agent.role != role.value:
        raise errors.Conflict(
            f"{slug} is {agent.role} in crew {crew_slug}; change that first."
        )
    return agent


def _member(wanted: Wanted, workspace: Workspace, role: Role) -> User:
    """Return the person, whose membership must carry the key's role."""
    email = bootstrap.checked_email(wanted.email or "")
    rows = Membership.objects.filter(workspace=workspace, user__email=email)
    member = rows.select_related("user").first()
    if member is None:
        if not wanted.create:
            raise _missing(f"member {email} in {workspace.slug}")
        # Refused when somebody else's link opened the account: its owner accepts an
        # invitation first.
        user, _made = bootstrap.person(email)
        by = system(workspace.id, "issue_key")
        return workspaces.set_member(user, role, by=by).user
    enough = Role(member.role) in (Role.ADMIN, role) or role is Role.VIEWER
    if not enough:
        raise errors.Conflict(
            f"{email} is {member.role} in {workspace.slug}: "
            f"a key of theirs cannot act as {role.value}."
        )
    return member.user


def _role(wanted: Wanted, kind: type[AgentRole] | type[Role]) -> Any:
    """Return the role asked for, None for none; agents' and people's differ."""
    if wanted.role is None:
        return None
    allowed = [r.value for r in kind if r.value not in ("agent", "system")]
    for name in allowed:
        if name.lower() == wanted.role.lower():
            return kind(name)
    raise errors.Invalid(f"--role is one of {', '.join(allowed)} here.")


def _check(wanted: Wanted) -> None:
    for_agent = wanted.crew is not None or wanted.agent is not None
    if for_agent and (wanted.crew is None or wanted.agent is None):
        raise errors.Invalid("--crew and --agent go together.")
    if wanted.end_user is not None and not for_agent:
        raise errors.Invalid("--end-user goes with --crew and --agent.")
    if for_agent == (wanted.email is not None):
        raise errors.Invalid("Name either --crew and --agent, or --email.")


def issue(wanted: Wanted) -> Issued:
    """Issue one key; it is shown once, by whoever called."""
    _check(wanted)
    if wanted.email is None:
        role = _role(wanted, AgentRole)
        with transaction.atomic():
            workspace = _workspace(wanted)
            by = system(workspace.id, "issue_key")
            agent = _agent(wanted, workspace, role)
            end_user = wanted.end_user or ""
            return api_keys.issue_agent_key(agent, by=by, end_user=end_user)
    person_role = _role(wanted, Role) or Role.OPERATOR
    with transaction.atomic():
        workspace = _workspace(wanted)
        by = system(workspace.id, "issue_key")
        user = _member(wanted, workspace, person_role)
        return api_keys.issue_operator_key(user, person_role, by=by)

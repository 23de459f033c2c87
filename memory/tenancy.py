"""Making workspaces, crews, agents and members; each act lands in the journal."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Max

from memory import journal
from memory.models import Agent, ChainHead, Crew, Membership, User, Workspace
from memory.models.tenancy import SLUG
from memory.rules import errors
from memory.rules.actors import Actor, AgentRole, Role, system
from memory.rules.entries import NewEntry, Severity


def _slug(value: str, field: str) -> str:
    try:
        SLUG(value)
    except ValidationError as error:
        raise errors.Invalid(
            f"{field}: {error.message}",
            code="bad_slug",
            errors=[{"field": field, "message": str(error.message)}],
        ) from None
    return value


def _record(entry_type: str, summary: str, payload: dict[str, str], by: Actor) -> None:
    new = NewEntry(
        entry_type=entry_type,
        severity=Severity.NOTICE,
        summary=summary,
        payload=dict(payload),
    )
    journal.write([new], by=by)


def ensure_workspace(slug: str, name: str = "") -> tuple[Workspace, bool]:
    """Return the workspace of a slug, and whether it was made now."""
    found = Workspace.objects.filter(slug=_slug(slug, "workspace")).first()
    if found is not None:
        return found, False
    try:
        with transaction.atomic():
            last = Workspace.objects.aggregate(last=Max("number"))["last"] or 0
            workspace = Workspace.objects.create(
                number=last + 1, slug=slug, name=name or slug
            )
            ChainHead.objects.create(workspace=workspace)
            by = system(workspace.id)
            _record("workspace.created", f"Workspace {slug} made", {"slug": slug}, by)
    except IntegrityError:
        # Another process was faster; its workspace is the one.
        return Workspace.objects.get(slug=slug), False
    return workspace, True


def ensure_crew(slug: str, *, by: Actor, name: str = "") -> tuple[Crew, bool]:
    """Return a crew of the actor's workspace, made when there was none."""
    by.require("agents.manage")
    found = Crew.objects.filter(
        workspace_id=by.workspace_id, slug=_slug(slug, "crew")
    ).first()
    if found is not None:
        return found, False
    with transaction.atomic():
        crew, made = Crew.objects.get_or_create(
            workspace_id=by.workspace_id, slug=slug, defaults={"name": name or slug}
        )
        if made:
            _record("crew.created", f"Crew {slug} made", {"crew_id": crew.id}, by)
    return crew, made


def ensure_agent(
    slug: str,
    crew: Crew,
    *,
    by: Actor,
    name: str = "",
    role: AgentRole = AgentRole.AGENT,
    walk_depth: int = 0,
) -> tuple[Agent, bool]:
    """Return an agent of a crew, made when there was none; its role is kept."""
    by.require("agents.manage", crew.workspace_id)
    defaults = {
        "name": name or slug,
        "role": role.value,
        "memory_walk_depth": walk_depth,
    }
    with transaction.atomic():
        agent, made = Agent.objects.get_or_create(
            workspace_id=crew.workspace_id,
            crew=crew,
            slug=_slug(slug, "agent"),
            defaults=defaults,
        )
        if made:
            told = {"agent_id": agent.id, "crew_id": crew.id, "role": role.value}
            _record("agent.created", f"Agent {slug} joined {crew.slug}", told, by)
    return agent, made


def change_agent(agent: Agent, *, by: Actor, role: AgentRole, walk_depth: int) -> Agent:
    """Change an agent's role and how far its recall walks."""
    by.require("agents.manage", agent.workspace_id)
    if walk_depth not in (0, 1):
        raise errors.Invalid("The walk depth is 0 or 1.", code="bad_walk_depth")
    with transaction.atomic():
        agent.role, agent.memory_walk_depth = role.value, walk_depth
        agent.save(update_fields=["role", "memory_walk_depth"])
        told = {"agent_id": agent.id, "role": role.value, "walk": str(walk_depth)}
        _record("agent.changed", f"Agent {agent.slug} changed", told, by)
    return agent


def ensure_user(email: str, password: str | None = None) -> tuple[User, bool]:
    """Return the person of an e-mail address, made when there was none."""
    found = User.objects.filter(email=email.strip().lower()).first()
    if found is not None:
        return found, False
    return User.objects.create_user(email.strip(), password), True


def set_member(user: User, role: Role, *, by: Actor) -> Membership:
    """Give a person a role in the actor's workspace, or change it.

    The last admin stays: a workspace that nobody can manage cannot be mended.
    """
    by.require("members.manage")
    with transaction.atomic():
        members = Membership.objects.select_for_update()
        admins = members.filter(workspace_id=by.workspace_id, role=Role.ADMIN.value)
        others = admins.exclude(user=user).exists()
        if role is not Role.ADMIN and not others and admins.exists():
            detail = "The last admin of a workspace stays admin."
            raise errors.Conflict(detail, code="last_admin")
        member, made = Membership.objects.get_or_create(
            workspace_id=by.workspace_id, user=user, defaults={"role": role.value}
        )
        if not made and member.role == role.value:
            return member
        member.role = role.value
        member.save(update_fields=["role"])
        told = {"user_id": user.id, "role": role.value}
        _record("member.changed", f"A member is now {role.value}", told, by)
    return member


def remove_member(member: Membership, *, by: Actor) -> None:
    """Take a person out of the workspace; their keys stop at once."""
    by.require("members.manage", member.workspace_id)
    with transaction.atomic():
        admins = Membership.objects.select_for_update().filter(
            workspace_id=member.workspace_id, role=Role.ADMIN.value
        )
        if not admins.exclude(pk=member.pk).exists():
            detail = "The last admin of a workspace stays."
            raise errors.Conflict(detail, code="last_admin")
        _record("member.removed", "A member left", {"user_id": member.user_id}, by)
        member.delete()

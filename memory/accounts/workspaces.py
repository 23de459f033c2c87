"""Workspaces, crews, agents and members; every change is recorded in the journal."""

from __future__ import annotations

from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext

from memory.accounts import login_links, mail
from memory.journal import append as journal
from memory.models import (
    Agent,
    ChainHead,
    Crew,
    Invitation,
    Membership,
    OperatorKey,
    User,
    Workspace,
)
from memory.models.tenancy import SLUG
from memory.ports import subject_linker
from memory.rules import errors
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor, AgentRole, Role, system


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


def person(user: User, role: str, workspace_id: str) -> Actor:
    """Return a person as an actor with a role in a workspace."""
    return Actor(
        role=Role(role), workspace_id=workspace_id, id=user.pk, label=user.email
    )


def _refuse_suppressed(workspace_id: str, names: Sequence[str]) -> None:
    """Raise Conflict ``subject_suppressed`` for a crew or agent named after somebody.

    A single word is no handle: ``support`` may be one of somebody. It may be a first
    name and a surname written together.
    """
    people = [name for name in names if name and not name.isalnum()]
    subject_linker.refuse(workspace_id, names, people)


def ensure_workspace(slug: str, name: str = "") -> tuple[Workspace, bool]:
    """Return the workspace of a slug, and whether it was created."""
    existing = Workspace.objects.filter(slug=_slug(slug, "workspace")).first()
    if existing is not None:
        return existing, False
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
        # Another process created it at the same time.
        return Workspace.objects.get(slug=slug), False
    return workspace, True


def ensure_crew(slug: str, *, by: Actor, name: str = "") -> tuple[Crew, bool]:
    """Return a crew of the actor's workspace, and whether it was created."""
    by.require("agents.manage")
    key = {"workspace_id": by.workspace_id, "slug": _slug(slug, "crew")}
    # A transaction waits for other writers: not for a crew that exists.
    if existing := Crew.objects.filter(**key).first():
        return existing, False
    _refuse_suppressed(by.workspace_id, (slug, name))
    with transaction.atomic():
        crew, is_new = Crew.objects.get_or_create(
            **key, defaults={"name": name or slug}
        )
        if is_new:
            _record("crew.created", f"Crew {slug} made", {"crew_id": crew.id}, by)
    return crew, is_new


def ensure_agent(
    slug: str,
    crew: Crew,
    *,
    by: Actor,
    name: str = "",
    role: AgentRole = AgentRole.AGENT,
    walk_depth: int = 0,
) -> tuple[Agent, bool]:
    """Return an agent and whether it was created; an existing one keeps its role."""
    by.require("agents.manage", crew.workspace_id)
    defaults = {
        "name": name or slug,
        "role": role.value,
        "memory_walk_depth": walk_depth,
    }
    # First: PostgreSQL cannot even be asked for a slug with a NUL.
    slug = _slug(slug, "agent")
    if not Agent.objects.filter(crew=crew, slug=slug).exists():
        _refuse_suppressed(crew.workspace_id, (slug, name))
    with transaction.atomic():
        agent, is_new = Agent.objects.get_or_create(
            workspace_id=crew.workspace_id,
            crew=crew,
            slug=slug,
            defaults=defaults,
        )
        if is_new:
            payload = {"agent_id": agent.id, "crew_id": crew.id, "role": role.value}
            _record("agent.created", f"Agent {slug} joined {crew.slug}", payload, by)
    return agent, is_new


def change_agent(agent: Agent, *, by: Actor, role: AgentRole, walk_depth: int) -> Agent:
    """Change an agent's role, and whether its recall adds neighbours (depth 0 or 1)."""
    by.require("agents.manage", agent.workspace_id)
    if walk_depth not in (0, 1):
        raise errors.Invalid("walk_depth is 0 or 1.", code="bad_walk_depth")
    with transaction.atomic():
        agent.role, agent.memory_walk_depth = role.value, walk_depth
        agent.save(update_fields=["role", "memory_walk_depth"])
        payload = {"agent_id": agent.id, "role": role.value, "walk": str(walk_depth)}
        _record("agent.changed", f"Agent {agent.slug} changed", payload, by)
    return agent


def ensure_user(email: str, password: str | None = None) -> tuple[User, bool]:
    """Return the user of an e-mail address, and whether it was created."""
    existing = User.objects.filter(email=email.strip().lower()).first()
    if existing is not None:
        return existing, False
    return User.objects.create_user(email.strip(), password), True


def set_member(user: User, role: Role, *, by: Actor) -> Membership:
    """Change a member's role; a command or an import may also add a member.

    The last admin stays admin, so that the workspace can be managed. People invite
    (``invitations``); only the system adds members directly, and only accounts that no
    admin of another workspace may have access to.
    """
    by.require("members.manage")
    with transaction.atomic():
        members = Membership.objects.select_for_update()
        admins = members.filter(workspace_id=by.workspace_id, role=Role.ADMIN.value)
        has_other_admin = admins.exclude(user=user).exists()
        if role is not Role.ADMIN and not has_other_admin and admins.exists():
            detail = gettext("The last admin of a workspace stays admin.")
            raise errors.Conflict(detail, code="last_admin")
        member = members.filter(workspace_id=by.workspace_id, user=user).first()
        if member is None:
            _check_addition(user, by)
            return admit(user, role, by=by)
        if member.role == role.value:
            return member
        member.role = role.value
        member.save(update_fields=["role"])
        if role is not Role.ADMIN:
            _withdraw_invitations_of(user.pk, by)
        payload = {"user_id": user.id, "role": role.value}
        _record("member.changed", f"A member is now {role.value}", payload, by)
    return member


def _check_addition(user: User, by: Actor) -> None:
    """Refuse to add a person who has to accept an invitation."""
    if by.role is not Role.SYSTEM:
        raise errors.Forbidden(
            gettext("People are invited; nobody is added."), code="invite"
        )
    if not login_links.is_proven(user) and not login_links.is_unclaimed(user):
        detail = gettext(
            "This account was opened with a link that another workspace handed out. "
            "Its owner has to accept an invitation first."
        )
        raise errors.Conflict(detail, code="must_accept")


def admit(user: User, role: Role, *, by: Actor) -> Membership:
    """Make a person a member; the caller has checked that this is allowed.

    Sessions and links made before must not give access to the workspace: all of them
    end, and so do the links of other invitations to the address.
    """
    with transaction.atomic():
        member = Membership.objects.create(
            workspace_id=by.workspace_id, user=user, role=role.value
        )
        invitations = Invitation.objects.filter(email=user.email)
        invitations.filter(workspace_id=by.workspace_id).delete()
        invitations.update(digest="")
        login_links.end_sessions(user)
        _revoke_keys(user, by)
        payload = {"user_id": user.id, "role": role.value}
        _record("member.changed", f"A member is now {role.value}", payload, by)
    return member


def _revoke_keys(user: User, by: Actor) -> None:
    """Revoke a person's keys, so that a later membership does not reactivate them."""
    rows = OperatorKey.objects.filter(workspace_id=by.workspace_id, user=user)
    rows.filter(revoked_at=None).update(revoked_at=timezone.now())


def _withdraw_invitations_of(user_id: str, by: Actor) -> None:
    """Withdraw the invitations of a person who is no longer an admin."""
    rows = Invitation.objects.filter(
        workspace_id=by.workspace_id, invited_by_id=user_id
    )
    for row in rows:
        payload = {"invitation_id": row.id}
        _record("invitation.withdrawn", "Its sender is no admin now", payload, by)
    rows.delete()


def remove_member(member: Membership, *, by: Actor) -> None:
    """Remove a person from the workspace and revoke their keys."""
    by.require("members.manage", member.workspace_id)
    with transaction.atomic():
        admins = Membership.objects.select_for_update().filter(
            workspace_id=member.workspace_id, role=Role.ADMIN.value
        )
        if not admins.exclude(pk=member.pk).exists():
            detail = gettext("The last admin of a workspace stays.")
            raise errors.Conflict(detail, code="last_admin")
        _record("member.removed", "A member left", {"user_id": member.user_id}, by)
        _withdraw_invitations_of(member.user_id, by)
        _revoke_keys(member.user, by)
        member.delete()


# ── Passwords ────────────────────────────────────────────────────────────────
def may_get_link(user: User, by: Actor) -> bool:
    """Whether an admin may give a person a link to choose a new password.

    Only without a mail server, only for an account that has access to nothing but the
    admin's workspace, and never for the admin's own account.
    """
    return (
        by.can("members.manage")
        and not mail.server_set()
        and user.pk != by.id
        and login_links.belongs_only_to(user, by.workspace_id)
    )


def password_link(member: Membership, *, by: Actor) -> str:
    """Return the path of a one-time link with which a member chooses a password."""
    by.require("members.manage", member.workspace_id)
    if not may_get_link(member.user, by):
        detail = gettext(
            "Whoever runs the installation can make a link for this account."
        )
        raise errors.Conflict(detail, code="no_link_for_account")
    payload = {"user_id": member.user_id}
    with transaction.atomic():
        _record("member.link_made", "A member may choose a new password", payload, by)
    return login_links.link_path(
        member.user,
        login_links.Purpose.MEMBER,
        workspace_id=by.workspace_id,
        made_by=by.id,
    )


def operator_password_link(user: User) -> str:
    """Return such a link for the operator; recorded in each workspace's journal."""
    payload = {"user_id": user.pk}
    with transaction.atomic():
        for member in user.memberships.all():
            by = system(member.workspace_id, "password_link")
            text = "A member may choose a new password"
            _record("member.link_made", text, payload, by)
    return login_links.link_path(user, login_links.Purpose.PASSWORD)


def choose_password(
    purpose: login_links.Purpose, token: str, password: str
) -> User | None:
    """Set the password of a link's account; None when the link is invalid.

    The account's row is locked, so that only one of two simultaneous uses succeeds.
    """
    with transaction.atomic():
        opening = login_links.open_link(purpose, token)
        if opening is None:
            return None
        User.objects.select_for_update().get(pk=opening.user.pk)
        opening = login_links.open_link(purpose, token)
        if opening is None:
            return None
        login_links.set_password(opening, password)
        payload = {"user_id": opening.user.pk, "by_link": purpose.value}
        for member in opening.user.memberships.select_related("user"):
            by = person(opening.user, member.role, member.workspace_id)
            _record("member.password_set", "A member chose a password", payload, by)
    return opening.user

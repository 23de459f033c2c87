"""Make the first workspace and its first admin, with a login link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.db import transaction

from crewship_memory import auth
from memory.accounts import invitations, login_links, workspaces
from memory.models import Membership, User, Workspace
from memory.rules import errors
from memory.rules.permissions import Actor, Role, system

DEFAULT_WORKSPACE: Final = "main"


@dataclass(frozen=True, slots=True)
class Bootstrapped:
    """A workspace and its admin, and which of the two are new.

    ``invitation`` is the path of a link: the person has an account that somebody else
    set up, and has to accept.
    """

    workspace: Workspace
    user: User
    made_workspace: bool
    made_user: bool
    made_member: bool
    invitation: str = ""


def person(email: str, password: str | None = None) -> tuple[User, bool]:
    """Return the user of an address, made if missing; the first is a superuser.

    A superuser can also open the raw rows under /admin/. The address of an account made
    here counts as proven, because the operator of the installation entered it.
    """
    user, is_new = workspaces.ensure_user(invitations.checked_email(email), password)
    if is_new:
        login_links.mark_proven(user)
    if is_new and not User.objects.filter(is_superuser=True).exists():
        user.is_staff = user.is_superuser = True
        user.save(update_fields=["is_staff", "is_superuser"])
    return user, is_new


def bootstrap(slug: str, email: str, password: str | None = None) -> Bootstrapped:
    """Return a workspace with an admin, made where missing.

    What exists stays as it is, the password of an existing user too.
    """
    with transaction.atomic():
        workspace, made_workspace = workspaces.ensure_workspace(slug)
        user, made_user = person(email, password)
        was_member = Membership.objects.filter(workspace=workspace, user=user).exists()
        by = system(workspace.id, "bootstrap")
        invitation = ""
        try:
            workspaces.set_member(user, Role.ADMIN, by=by)
        except errors.Conflict as error:
            if error.problem_code != "must_accept":
                raise
            invitation = _invitation(user, by)
    made_member = not was_member and not invitation
    return Bootstrapped(
        workspace, user, made_workspace, made_user, made_member, invitation
    )


def _invitation(user: User, by: Actor) -> str:
    """Return a link that accepts the invitation to be a workspace's admin."""
    invitation_by_email = {row.email: row for row in invitations.pending(by)}
    invitation = invitation_by_email.get(user.email)
    if invitation is not None and invitation.role != Role.ADMIN.value:
        invitations.withdraw(invitation, by=by)
        invitation = None
    if invitation is None:
        invitation = invitations.invite(user.email, Role.ADMIN, by=by)
    return invitations.link_path(invitation, by=by)


def bootstrap_first() -> Bootstrapped | None:
    """Make the first admin and workspace, unless a user exists."""
    if User.objects.exists():
        return None
    return bootstrap(DEFAULT_WORKSPACE, settings.ADMIN_EMAIL)


def has_no_sign_ins() -> bool:
    """Whether no user has ever signed in."""
    return not User.objects.filter(last_login__isnull=False).exists()


def first_admin() -> User | None:
    """Return the admin with the oldest membership of any workspace."""
    rows = Membership.objects.filter(role=Role.ADMIN.value, user__is_active=True)
    member = rows.select_related("user").order_by("created_at").first()
    return member.user if member else None


def absolute(path: str, base: str = "") -> str:
    """Return the absolute URL of a path where the public address is configured."""
    return (base or settings.PUBLIC_URL).rstrip("/") + path


def login_link(user: User, base: str = "") -> str:
    """Return a fresh one-time link that signs somebody in."""
    return absolute(auth.login_path(user), base)


def password_link(email: str) -> tuple[User, str]:
    """Return an active account and a fresh link with which it gets a password."""
    address = invitations.checked_email(email)
    user = User.objects.filter(email=address, is_active=True).first()
    if user is None:
        raise errors.NotFound("No active account has this address.")
    return user, absolute(workspaces.operator_password_link(user))

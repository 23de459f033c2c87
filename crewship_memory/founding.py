"""The first workspace, the first admin, and the link that lets them in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction

from crewship_memory import auth
from memory import tenancy
from memory.models import Membership, User, Workspace
from memory.rules import errors
from memory.rules.actors import Role, system

DEFAULT_WORKSPACE: Final = "main"


@dataclass(frozen=True, slots=True)
class Founded:
    """A workspace and its admin, and which of them were made now."""

    workspace: Workspace
    user: User
    made_workspace: bool
    made_user: bool
    made_member: bool


def checked_email(value: str) -> str:
    """Return an address in the form it is kept in, or raise Invalid."""
    try:
        validate_email(value.strip())
    except ValidationError:
        raise errors.Invalid("That is not an e-mail address.") from None
    return value.strip().lower()


def person(email: str, password: str | None = None) -> tuple[User, bool]:
    """Return the person of an address; the installation's first one owns it.

    Owning means that the raw rows under /admin/ are open as well.
    """
    user, made = tenancy.ensure_user(checked_email(email), password)
    if made and not User.objects.filter(is_superuser=True).exists():
        user.is_staff = user.is_superuser = True
        user.save(update_fields=["is_staff", "is_superuser"])
    return user, made


def found(slug: str, email: str, password: str | None = None) -> Founded:
    """Return a workspace with an admin; what is there already stays as it is.

    So does the password of somebody who is already known.
    """
    with transaction.atomic():
        workspace, made_workspace = tenancy.ensure_workspace(slug)
        user, made_user = person(email, password)
        was = Membership.objects.filter(workspace=workspace, user=user).exists()
        tenancy.set_member(user, Role.ADMIN, by=system(workspace.id, "bootstrap"))
    return Founded(workspace, user, made_workspace, made_user, not was)


def found_first() -> Founded | None:
    """Make the first admin and workspace, unless somebody is here already."""
    if User.objects.exists():
        return None
    return found(DEFAULT_WORKSPACE, settings.ADMIN_EMAIL)


def nobody_came_yet() -> bool:
    """Whether no person has ever signed in."""
    return not User.objects.filter(last_login__isnull=False).exists()


def first_admin(slug: str | None = None) -> User | None:
    """Return the longest-serving admin, of one workspace or of any."""
    rows = Membership.objects.filter(role=Role.ADMIN.value, user__is_active=True)
    if slug is not None:
        rows = rows.filter(workspace__slug=slug)
    member = rows.select_related("user").order_by("created_at").first()
    return member.user if member else None


def login_link(user: User, base: str = "") -> str:
    """Return a fresh one-time link, absolute when our own address is known."""
    return (base or settings.PUBLIC_URL).rstrip("/") + auth.login_path(user)

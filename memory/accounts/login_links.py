"""Accounts: proven e-mail addresses, and the one-time links that open an account.

The address of an account is *proven* (allauth's verified address) when its owner used a
link that was sent to it by mail, or when the operator of the installation created the
account. A link made by the admin of a workspace proves nothing to another workspace.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core import signing
from django.db.models import F
from django.utils.crypto import constant_time_compare, salted_hmac

from memory.models import Membership, User
from memory.rules.permissions import Role

_SALT: Final = "memory.accounts.link"


class Purpose(StrEnum):
    """The purpose of a link; a link is valid for its own purpose only."""

    SIGN_IN = "sign-in"  # printed for the operator of the installation
    PASSWORD = "password"  # noqa: S105  the same, to choose a new password
    MEMBER = "member"  # made by an admin for a member of their workspace alone
    MAILBOX = "mailbox"  # sent by mail, to choose a new password


@dataclass(frozen=True, slots=True)
class Opening:
    """The account that a valid link opens, and the workspace whose admin made it."""

    user: User
    purpose: Purpose
    workspace_id: str


# ── Proven addresses ─────────────────────────────────────────────────────────
def is_proven(user: User) -> bool:
    """Whether the account's owner has proven to own its address."""
    rows = EmailAddress.objects.filter(user=user, email=user.email, verified=True)
    return user.is_superuser or rows.exists()


def mark_proven(user: User) -> None:
    """Mark the address as proven; other addresses of the account are deleted."""
    EmailAddress.objects.filter(user=user).exclude(email=user.email).delete()
    EmailAddress.objects.filter(email=user.email).exclude(user=user).delete()
    EmailAddress.objects.update_or_create(
        user=user, email=user.email, defaults={"verified": True, "primary": True}
    )


def mark_unproven(user: User) -> None:
    """Remove the proof, because another person had access to the account."""
    EmailAddress.objects.filter(user=user).delete()


def is_unclaimed(user: User) -> bool:
    """Whether nobody has ever had access to the account."""
    return user.last_login is None and not user.has_usable_password()


def end_sessions(user: User) -> None:
    """End every session and every open link of an account."""
    rows = User.objects.filter(pk=user.pk)
    rows.update(session_generation=F("session_generation") + 1)
    user.refresh_from_db(fields=["session_generation"])


# ── Links ────────────────────────────────────────────────────────────────────
def _state(user: User) -> str:
    """Return a keyed digest of the state that a link depends on.

    The password, the last sign-in, every membership with its role, and whether the
    account is active: when one of them changes, the link is invalid.
    """
    roles = Membership.objects.filter(user=user).order_by("workspace_id")
    parts = [
        user.pk, user.email, user.password, user.last_login, user.is_active,
        user.is_staff, user.session_generation,
        *roles.values_list("workspace_id", "role"),
    ]  # fmt: skip
    return salted_hmac(_SALT, repr(parts), algorithm="sha256").hexdigest()


def belongs_only_to(user: User, workspace_id: str) -> bool:
    """Whether an account has access to one workspace and nothing else."""
    homes = set(user.memberships.values_list("workspace_id", flat=True))
    plain = user.is_active and not user.is_staff and not user.is_superuser
    return plain and homes == {workspace_id}


def link_path(
    user: User, purpose: Purpose, *, workspace_id: str = "", made_by: str = ""
) -> str:
    """Return the path of a new one-time link; ``made_by`` is the admin's user id."""
    value = [user.pk, workspace_id, made_by, _state(user)]
    token = signing.dumps(value, salt=f"{_SALT}.{purpose.value}")
    return f"/login/{purpose.value}/{token}/"


def open_link(purpose: Purpose, token: str) -> Opening | None:
    """Return what a link opens, None when it is used, invalid, expired or forged."""
    try:
        value = signing.loads(
            token,
            salt=f"{_SALT}.{purpose.value}",
            max_age=settings.PASSWORD_RESET_TIMEOUT,
        )
    except signing.BadSignature:
        return None
    pk, workspace_id, made_by, state = value
    user = User.objects.filter(pk=pk, is_active=True).first()
    if user is None or not constant_time_compare(state, _state(user)):
        return None
    if purpose is Purpose.MEMBER and not _still_made_by(user, workspace_id, made_by):
        return None
    return Opening(user, purpose, workspace_id)


def _still_made_by(user: User, workspace_id: str, made_by: str) -> bool:
    """Whether the link's maker is still an admin and may still help this account."""
    admins = Membership.objects.filter(
        workspace_id=workspace_id,
        user_id=made_by,
        user__is_active=True,
        role=Role.ADMIN.value,
    )
    return admins.exists() and belongs_only_to(user, workspace_id)


def set_password(opening: Opening, password: str) -> None:
    """Set the password of a link's account; its sessions and links end."""
    user = opening.user
    user.set_password(password)
    user.save(update_fields=["password"])
    if opening.purpose is Purpose.MAILBOX:
        mark_proven(user)
    elif opening.purpose is Purpose.MEMBER:
        mark_unproven(user)
    end_sessions(user)

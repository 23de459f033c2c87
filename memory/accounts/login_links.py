"""Accounts: whose address is proven, and the one-time links that open an account.

An account belongs to whoever set it up. That its owner also has the mailbox is known
only when a link reached them by mail, or when whoever runs the installation made the
account; then the address is *proven* (allauth's verified address). What was handed out
by the admin of a workspace proves nothing to another workspace.
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
    """What a link is for; one made for a purpose is nothing for another."""

    SIGN_IN = "sign-in"  # printed for who runs the installation
    PASSWORD = "password"  # noqa: S105  the same, to choose a new password
    MEMBER = "member"  # made by an admin for a member of their workspace alone
    MAILBOX = "mailbox"  # sent by mail, to choose a new password


@dataclass(frozen=True, slots=True)
class Opening:
    """An account that a valid link opens, and the workspace whose admin made it."""

    user: User
    purpose: Purpose
    workspace_id: str


# ── Whose the address is ─────────────────────────────────────────────────────
def is_proven(user: User) -> bool:
    """Whether the owner of the account is known to own its address."""
    rows = EmailAddress.objects.filter(user=user, email=user.email, verified=True)
    return user.is_superuser or rows.exists()


def prove(user: User) -> None:
    """Remember that the owner has the mailbox; other addresses of the account go."""
    EmailAddress.objects.filter(user=user).exclude(email=user.email).delete()
    EmailAddress.objects.filter(email=user.email).exclude(user=user).delete()
    EmailAddress.objects.update_or_create(
        user=user, email=user.email, defaults={"verified": True, "primary": True}
    )


def doubt(user: User) -> None:
    """Forget the proof: somebody else had a way into the account."""
    EmailAddress.objects.filter(user=user).delete()


def is_unclaimed(user: User) -> bool:
    """Whether nobody has ever had a way into the account."""
    return user.last_login is None and not user.has_usable_password()


def end_sessions(user: User) -> None:
    """End every session and every outstanding link of an account."""
    rows = User.objects.filter(pk=user.pk)
    rows.update(session_generation=F("session_generation") + 1)
    user.refresh_from_db(fields=["session_generation"])


# ── Links ────────────────────────────────────────────────────────────────────
def _state(user: User) -> str:
    """Return a keyed digest of what a link depends on.

    The password, the last sign-in, every membership with its role, and whether the
    account is switched on: when one of them changes, the link has ended.
    """
    roles = Membership.objects.filter(user=user).order_by("workspace_id")
    parts = [
        user.pk, user.email, user.password, user.last_login, user.is_active,
        user.is_staff, user.session_generation,
        *roles.values_list("workspace_id", "role"),
    ]  # fmt: skip
    return salted_hmac(_SALT, repr(parts), algorithm="sha256").hexdigest()


def belongs_only_to(user: User, workspace_id: str) -> bool:
    """Whether an account reaches one workspace and nothing else."""
    homes = set(user.memberships.values_list("workspace_id", flat=True))
    plain = user.is_active and not user.is_staff and not user.is_superuser
    return plain and homes == {workspace_id}


def link_path(
    user: User, purpose: Purpose, *, workspace_id: str = "", made_by: str = ""
) -> str:
    """Return the path of a fresh one-time link; ``made_by`` is the admin's user id."""
    value = [user.pk, workspace_id, made_by, _state(user)]
    token = signing.dumps(value, salt=f"{_SALT}.{purpose.value}")
    return f"/login/{purpose.value}/{token}/"


def open_link(purpose: Purpose, token: str) -> Opening | None:
    """Return what a link opens, None when it is used, ended, expired or forged."""
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
    """Whether the maker is still an admin, and the account still theirs to help."""
    admins = Membership.objects.filter(
        workspace_id=workspace_id,
        user_id=made_by,
        user__is_active=True,
        role=Role.ADMIN.value,
    )
    return admins.exists() and belongs_only_to(user, workspace_id)


def set_password(opening: Opening, password: str) -> None:
    """Let the owner of a link choose a password; sessions and links end with it."""
    user = opening.user
    user.set_password(password)
    user.save(update_fields=["password"])
    if opening.purpose is Purpose.MAILBOX:
        prove(user)
    elif opening.purpose is Purpose.MEMBER:
        doubt(user)
    end_sessions(user)

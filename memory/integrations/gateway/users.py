"""The users of our gateway: keys issued by an admin, shown once, limited, revoked.

A key is ``uk_`` and 43 random characters; only its digest is kept. One look-up by that
digest decides whether anybody is known at all, so an unknown user and a wrong key cost
the same and are the same answer. A user acts for the agent whose memory the key opens.
"""

from __future__ import annotations

import hmac
import re
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from memory.accounts import api_keys
from memory.journal import append as journal
from memory.models import Agent, GatewayKey
from memory.rules import errors
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor, AgentRole, KeyScope, Role

PREFIX: Final = "uk_"
PREFIX_CHARS: Final = 11
# User, app and project are parts of session ids and of resource addresses.
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}")


@dataclass(frozen=True, slots=True)
class IssuedUser:
    """A fresh key; ``token`` is not stored and cannot be shown again."""

    token: str
    key: GatewayKey


@dataclass(frozen=True, slots=True)
class GatewayUser:
    """An authenticated user: the agent that acts, and the user's key."""

    actor: Actor
    key: GatewayKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a key is limited to; empty means no limit."""

    app_id: str = ""
    project_id: str = ""
    scopes: tuple[KeyScope, ...] = ()
    expires_at: datetime | None = None


def _checked_name(field: str, value: str) -> str:
    if NAME.fullmatch(value):
        return value
    message = gettext(
        "{field} is letters, digits and . _ @ + - only, 128 at most."
    ).format(field=field)
    fault = {"field": field, "code": "bad_name", "message": message}
    raise errors.Invalid(message, code="bad_name", errors=[fault])


def _record(action: str, key: GatewayKey, by: Actor) -> None:
    new = NewEntry(
        entry_type=f"gateway_key.{action}",
        severity=Severity.NOTICE,
        summary=f"Gateway key {key.prefix}… {action}",
        payload={"key_id": key.id, "name": key.name, "scopes": key.scopes},
        refs={"key_id": key.id},
        crew_id=key.agent.crew_id,
        subjects=(key.user_id,),
    )
    journal.write([new], by=by)


def list_keys(by: Actor) -> list[GatewayKey]:
    """Return the workspace's gateway keys, those that work first, then by age."""
    by.require("keys.read")
    rows = GatewayKey.objects.filter(workspace_id=by.workspace_id)
    keys = rows.select_related("agent__crew")
    return sorted(keys, key=lambda key: key.state != "active")


def get(by: Actor, key_id: str) -> GatewayKey:
    """Return a gateway key of the actor's workspace."""
    by.require("keys.read")
    rows = GatewayKey.objects.select_related("agent__crew")
    key = rows.filter(workspace_id=by.workspace_id, pk=key_id).first()
    if key is None:
        raise errors.NotFound
    return key


def issue(
    agent: Agent,
    user_id: str,
    limits: Limits | None = None,
    *,
    by: Actor,
    name: str = "",
) -> IssuedUser:
    """Issue a key for a user of an agent's memory; the token is shown once."""
    by.require("keys.manage", agent.workspace_id)
    limits, now = limits or Limits(), timezone.now()
    if limits.expires_at is not None and limits.expires_at <= now:
        raise errors.Invalid(gettext("The expiry lies in the past."), code="bad_expiry")
    user = _checked_name("user_id", user_id.strip())
    app, project = limits.app_id.strip(), limits.project_id.strip()
    token = PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        key = GatewayKey.objects.create(
            workspace_id=agent.workspace_id,
            agent=agent,
            user_id=user,
            app_id=_checked_name("app_id", app) if app else "",
            project_id=_checked_name("project_id", project) if project else "",
            name=name.strip()[:120] or user[:120],
            prefix=token[:PREFIX_CHARS],
            digest=api_keys.digest(token),
            scopes=sorted(scope.value for scope in limits.scopes),
            expires_at=limits.expires_at,
            created_by=by.label,
        )
        _record("issued", key, by)
    return IssuedUser(token, key)


def revoke(key: GatewayKey, *, by: Actor) -> None:
    """Revoke a key at once; idempotent."""
    by.require("keys.manage", key.workspace_id)
    with transaction.atomic():
        rows = GatewayKey.objects.filter(pk=key.pk, revoked_at__isnull=True)
        if rows.update(revoked_at=timezone.now()):
            _record("revoked", key, by)


def _actor(key: GatewayKey) -> Actor:
    agent: Agent = key.agent
    return Actor(
        role=Role.AGENT,
        workspace_id=key.workspace_id,
        id=agent.id,
        label=agent.slug,
        crew_id=agent.crew_id,
        agent_role=AgentRole(agent.role),
        key_id=key.id,
        scopes=frozenset(KeyScope(scope) for scope in key.scopes),
    )


def authenticate(user_id: str, user_key: str) -> GatewayUser | None:
    """Return the user; None for an unknown one, or a wrong, expired or revoked key."""
    rows = GatewayKey.objects.select_related("agent__crew__workspace")
    key = rows.filter(digest=api_keys.digest(user_key)).first()
    expected_user = key.user_id if key is not None else ""
    is_same_user = hmac.compare_digest(
        expected_user.encode(), user_id.encode("utf-8", "replace")
    )
    if key is None or not is_same_user or key.state != "active":
        return None
    api_keys.touch(key)
    return GatewayUser(_actor(key), key)


def is_active(user_key: str) -> bool:
    """Return whether a key is active, whoever sends it."""
    if not user_key.startswith(PREFIX):
        return False
    key = GatewayKey.objects.filter(digest=api_keys.digest(user_key)).first()
    return key is not None and key.state == "active"


def permit(key: GatewayKey, *, app_id: str, project_id: str, agent_id: str) -> None:
    """Raise Forbidden for an app, project or agent that the key is not for."""
    allowed = (
        key.app_id in ("", app_id)
        and key.project_id in ("", project_id)
        and agent_id in ("", key.agent_id, key.agent.slug)
    )
    if not allowed:
        detail = "This user key is not for that app, project or agent."
        raise errors.Forbidden(detail, code="beyond_key")

"""Bearer keys: issue, authenticate, revoke.

A key is ``cmk_`` and 43 random characters (256 bits). Only its SHA-256 digest is
stored: at that entropy a slow password hash would only add 0.3 s to a request.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final

from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext

from memory.journal import append as journal
from memory.models import Agent, AgentKey, GatewayKey, Membership, OperatorKey, User
from memory.rules import end_users, errors
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor, AgentRole, KeyScope, Role

PREFIX: Final = "cmk_"
PREFIX_CHARS: Final = 12
TOUCH_EVERY: Final = timedelta(minutes=1)
_CACHE_SIZE: Final = 1_024
# Every column that an agent's key and its actor are built from.
_KEY_QUERY: Final = (
    "SELECT k.id, k.workspace_id, k.scopes, k.expires_at, k.revoked_at, k.last_used_at,"
    " k.end_user,"
    " a.id, a.slug, a.crew_id, a.role, a.memory_walk_depth"
    " FROM agent_keys k JOIN agents a ON a.id = k.agent_id WHERE k.digest = %s"
)


@dataclass(frozen=True, slots=True)
class Issued:
    """A new key; ``token`` is its only copy."""

    token: str
    key: AgentKey | OperatorKey


def digest(token: str) -> str:
    """Return the digest that is stored of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def touch(key: AgentKey | OperatorKey | GatewayKey) -> None:
    """Store the time of use, at most once a minute."""
    now = timezone.now()
    if key.last_used_at is not None and now - key.last_used_at < TOUCH_EVERY:
        return
    stale = Q(last_used_at__isnull=True) | Q(last_used_at__lt=now - TOUCH_EVERY)
    # On SQLite, transactions queue fairly; a single statement may have to wait longer.
    with transaction.atomic():
        type(key).objects.filter(stale, pk=key.pk).update(last_used_at=now)


def _agent_actor(key: AgentKey) -> Actor:
    agent = key.agent
    return Actor(
        role=Role.AGENT,
        workspace_id=key.workspace_id,
        id=agent.id,
        label=agent.slug,
        crew_id=agent.crew_id,
        agent_role=AgentRole(agent.role),
        walk_depth=agent.memory_walk_depth,
        key_id=key.id,
        scopes=frozenset(KeyScope(scope) for scope in key.scopes),
        end_user=key.end_user,
        only_end_user=bool(key.end_user),
    )


def _operator_actor(key: OperatorKey) -> Actor | None:
    """Return the actor of an operator key, None when its person is no member.

    The key's role never exceeds the present role of the member: the old admin key of a
    viewer acts as a viewer.
    """
    member = Membership.objects.filter(
        workspace_id=key.workspace_id, user_id=key.user_id, user__is_active=True
    ).first()
    if member is None:
        return None
    role = Role(key.role)
    if role is not Role.VIEWER and Role(member.role) is not Role.ADMIN:
        role = role if role.value == member.role else Role.VIEWER
    return Actor(
        role=role,
        workspace_id=key.workspace_id,
        id=key.user_id,
        label=key.user.email,
        key_id=key.id,
        scopes=frozenset(KeyScope(scope) for scope in key.scopes),
    )


class _ColumnsChanged(Exception):
    """A key's columns changed while it was read."""


def _columns(key_digest: str) -> tuple[Any, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(_KEY_QUERY, [key_digest])
        columns: tuple[Any, ...] | None = cursor.fetchone()
    return columns


@lru_cache(maxsize=_CACHE_SIZE)
def _agent_key(key_digest: str, columns: tuple[Any, ...]) -> tuple[AgentKey, Actor]:
    """Return an agent's key and actor; built again when one of its columns changed.

    Raises _Changed, which is not cached, where the row no longer has these columns: an
    actor with other rights would be returned whenever the columns are these again.
    """
    key = AgentKey.objects.select_related("agent").filter(digest=key_digest).first()
    if key is None or _columns(key_digest) != columns:
        raise _ColumnsChanged
    return key, _agent_actor(key)


def forget() -> None:
    """Drop the keys kept in memory: one may name its end user."""
    _agent_key.cache_clear()


def _find_agent(key_digest: str) -> tuple[AgentKey, Actor] | None:
    """Return an agent's key and actor, None for an unknown key.

    The columns are read at every request, so that a revocation takes effect at once in
    every process.
    """
    while (columns := _columns(key_digest)) is not None:
        with suppress(_ColumnsChanged):
            return _agent_key(key_digest, columns)
    return None


def _find_operator(key_digest: str) -> tuple[OperatorKey, Actor] | None:
    keys = OperatorKey.objects.select_related("user")
    key = keys.filter(digest=key_digest).first()
    if key is None or key.state != "active":
        return None
    actor = _operator_actor(key)
    return None if actor is None else (key, actor)


def authenticate(token: str) -> Actor | None:
    """Return the actor of a token, None for unknown, expired and revoked keys."""
    if not token.startswith(PREFIX) or len(token) > 128 or not token.isascii():
        return None
    key_digest = digest(token)
    match = _find_agent(key_digest) or _find_operator(key_digest)
    if match is None or match[0].state != "active":
        return None
    key, actor = match
    touch(key)
    return actor


def _fields(
    name: str, scopes: Iterable[KeyScope], expires_at: datetime | None, by: Actor
) -> tuple[str, dict[str, object]]:
    if expires_at is not None and expires_at <= timezone.now():
        detail = gettext("The expiry lies in the past.")
        raise errors.Invalid(detail, code="bad_expiry")
    token = PREFIX + secrets.token_urlsafe(32)
    return token, {
        "name": name.strip()[:120] or "key",
        "prefix": token[:PREFIX_CHARS],
        "digest": digest(token),
        "scopes": sorted(scope.value for scope in scopes),
        "expires_at": expires_at,
        "created_by": by.label,
    }


def _record(action: str, key: AgentKey | OperatorKey, by: Actor) -> None:
    new = NewEntry(
        entry_type=f"key.{action}",
        severity=Severity.NOTICE,
        summary=f"Key {key.prefix}… {action}",
        payload={"key_id": key.id, "name": key.name, "scopes": key.scopes},
        refs={"key_id": key.id},
        crew_id=key.agent.crew_id if isinstance(key, AgentKey) else None,
    )
    journal.write([new], by=by)


def issue_agent_key(
    agent: Agent,
    *,
    by: Actor,
    name: str = "",
    scopes: Iterable[KeyScope] = (),
    expires_at: datetime | None = None,
    end_user: str = "",
) -> Issued:
    """Issue a key for an agent; the caller shows the token once.

    A key for an ``end_user`` opens only the tools, over that user's memories.
    """
    by.require("keys.manage", agent.workspace_id)
    user = end_users.validate(end_user) if end_user else ""
    token, fields = _fields(name or agent.slug, scopes, expires_at, by)
    with transaction.atomic():
        key = AgentKey.objects.create(
            workspace_id=agent.workspace_id, agent=agent, end_user=user, **fields
        )
        _record("issued", key, by)
    return Issued(token, key)


def issue_operator_key(
    user: User,
    role: Role,
    *,
    by: Actor,
    name: str = "",
    scopes: Iterable[KeyScope] = (),
    expires_at: datetime | None = None,
) -> Issued:
    """Issue a key for a program that acts as a person with a role."""
    by.require("keys.manage")
    if not Membership.objects.filter(workspace_id=by.workspace_id, user=user).exists():
        raise errors.NotFound
    token, fields = _fields(name or user.email, scopes, expires_at, by)
    with transaction.atomic():
        key = OperatorKey.objects.create(
            workspace_id=by.workspace_id, user=user, role=role.value, **fields
        )
        _record("issued", key, by)
    return Issued(token, key)


def revoke(key: AgentKey | OperatorKey, *, by: Actor) -> None:
    """Revoke a key with immediate effect; a second time changes nothing."""
    by.require("keys.manage", key.workspace_id)
    with transaction.atomic():
        updated = (
            type(key)
            .objects.filter(pk=key.pk, revoked_at__isnull=True)
            .update(revoked_at=timezone.now())
        )
        if updated:
            key.refresh_from_db()
            _record("revoked", key, by)

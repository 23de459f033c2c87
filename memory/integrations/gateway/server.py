"""The gateway server: messages become records, found again by user, app and project.

A record's scope is the user, the app and the project, matched exactly, so one user
never sees another's memories. A message is stored before ``add`` answers; what the
scanner holds waits for review and is not found meanwhile. The same message again (user,
session, role, time, text) is the same record. The messages of a session are written in
order, and their journal entries share a trace id.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.db import transaction
from django.utils import timezone

from memory import records
from memory.files.paths import Owner
from memory.files.quarantine import HeldForReview, WriteRefused
from memory.integrations.gateway.config import Scope
from memory.integrations.gateway.schemas import Message, SearchIn
from memory.integrations.gateway.users import GatewayUser
from memory.journal import append as journal
from memory.models import GatewayPending, JournalEntry, Record
from memory.ports import ranker
from memory.records import ranked_search
from memory.records.drafts import Draft
from memory.rules import entries, errors, hashing
from memory.rules.scopes import Scope as RecordScope

CHAT, RESOURCE, EDIT = "chat:", "resource:", "memory_edit:"
SESSION_CHARS: Final = 128
# How long a flush waits for the embeddings of what was added.
SETTLE_SECONDS: Final = 1.0
STEP_SECONDS: Final = 0.02
SETTLED: Final = 50
# Messages per transaction.
BATCH: Final = 100
FORGOTTEN_AFTER: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppProject:
    """The app and project of a request; with the user they are a memory's scope."""

    app_id: str
    project_id: str


@dataclass(frozen=True, slots=True)
class Result:
    """A hit, and the most specific scope it was found in."""

    record: Record
    score: float
    source_scope: Scope


@dataclass(frozen=True, slots=True)
class Added:
    """How many messages were accepted; ``held`` of them wait for review."""

    count: int
    held: int


# ── Scopes and sessions ───────────────────────────────────────────────────────
def _owner(gateway_user: GatewayUser) -> Owner:
    return Owner(gateway_user.key.agent.crew, gateway_user.key.agent)


def _scope(gateway_user: GatewayUser, place: AppProject) -> RecordScope:
    extra = {"app_id": place.app_id, "project_id": place.project_id}
    return RecordScope(user=gateway_user.key.user_id, extra=extra)


def _query(
    gateway_user: GatewayUser, place: AppProject, **filters: Any
) -> records.Criteria:
    return records.Criteria(
        owner=_owner(gateway_user),
        scope=_scope(gateway_user, place),
        match=records.Match.EXACT,
        **filters,
    )


def check_session(gateway_user: GatewayUser, session_id: str) -> str:
    """Return a session id if it is a chat, a resource or the edits of this user."""
    user = gateway_user.key.user_id
    kinds = (CHAT, f"{RESOURCE}{user}:")
    is_named = any(
        session_id.startswith(kind) and len(session_id) > len(kind) for kind in kinds
    )
    if len(session_id) <= SESSION_CHARS and (is_named or session_id == EDIT + user):
        return session_id
    message = "session_id is chat:<conversation>, or one of your own resources."
    fault = {"field": "session_id", "code": "bad_session", "message": message}
    raise errors.Invalid(message, code="bad_session", errors=[fault])


def resource_uri(record: Record) -> str | None:
    """Return the URI of a resource's memory; None for a conversation's."""
    uri = record.metadata.get("resource_uri")
    return uri if isinstance(uri, str) else None


def _uri(session_id: str) -> dict[str, str]:
    if not session_id.startswith(RESOURCE):
        return {}
    _, user, name = session_id.split(":", 2)
    return {"resource_uri": f"resource://{user}/{name}"}


# ── Search ───────────────────────────────────────────────────────────────────
def _filter(request: SearchIn) -> dict[str, Any] | None:
    """Return a filter for the sessions of the scopes; an empty ``or`` matches none."""
    if Scope.ALL_USER_MEMORY in request.scope:
        return None
    parts: list[dict[str, Any]] = []
    if Scope.CURRENT_CHAT in request.scope and request.conversation_id:
        chat = CHAT + request.conversation_id
        parts.append({"field": "session_id", "op": "eq", "value": chat})
    if Scope.RESOURCES in request.scope:
        parts.append({"field": "metadata.resource_uri", "op": "exists"})
    return parts[0] if len(parts) == 1 else {"or": parts}


def _source(record: Record, request: SearchIn) -> Scope:
    chat = CHAT + (request.conversation_id or "")
    if Scope.CURRENT_CHAT in request.scope and record.session_id == chat:
        return Scope.CURRENT_CHAT
    if Scope.RESOURCES in request.scope and resource_uri(record):
        return Scope.RESOURCES
    return Scope.ALL_USER_MEMORY


def search(
    gateway_user: GatewayUser, place: AppProject, request: SearchIn
) -> list[Result]:
    """Return the best memories of the scopes together, each once, best first."""
    where = _filter(request)
    if where == {"or": []}:
        return []
    filters = _query(gateway_user, place, filter=where)
    query = request.query[: ranked_search.QUERY_CHARS]
    hits = records.search(
        query, filters, limit=request.top_k, by=gateway_user.actor
    ).hits
    # In the order of the search: a smaller top_k gives the beginning of the same list.
    return [Result(hit.record, hit.score, _source(hit.record, request)) for hit in hits]


# ── Add and flush ────────────────────────────────────────────────────────────
def _digest(*parts: object) -> str:
    return hashing.keyed_digest(journal.key(), entries.canonical(list(parts)))


def _pending(gateway_user: GatewayUser, place: AppProject, session_id: str) -> str:
    key = gateway_user.key
    owner_parts = (key.agent_id, key.user_id, place.app_id, place.project_id)
    return _digest("gateway.pending", *owner_parts, session_id)


def _draft(
    gateway_user: GatewayUser, place: AppProject, session_id: str, message: Message
) -> Draft:
    """Return a message as a draft; its external id makes a replay the same record."""
    user = gateway_user.key.user_id
    identity = (session_id, message.role, message.timestamp, message.content)
    return Draft(
        content=message.content,
        owner=_owner(gateway_user),
        kind="document" if session_id.startswith(RESOURCE) else "episode",
        scope=_scope(gateway_user, place),
        metadata={
            "role": message.role,
            "sender_id": message.sender_id,
            "timestamp": message.timestamp,
            **_uri(session_id),
        },
        session_id=session_id,
        external_id="gw:" + _digest("gateway.message", user, *identity),
        subjects=(user,),
    )


def add(
    gateway_user: GatewayUser,
    place: AppProject,
    session_id: str,
    messages: Sequence[Message],
) -> Added:
    """Store messages; they are found when this returns.

    The scanner checks each first; a message it holds does not stop the others. They are
    written in batches, so that other writers do not wait long; after a crash half-way
    the same request stores the rest and nothing twice.
    """
    gateway_user.actor.require("records.write")
    check_session(gateway_user, session_id)
    by, provenance = gateway_user.actor, records.Provenance.AGENT_EXTRACTED
    drafts = [_draft(gateway_user, place, session_id, message) for message in messages]
    prepared = records.prepare_all(drafts, provenance=provenance, by=by)
    accepted = records.all_or_nothing(
        [
            draft
            for draft in prepared
            if not isinstance(draft, HeldForReview | WriteRefused)
        ]
    )
    for start in range(0, len(accepted), BATCH):
        with transaction.atomic():
            part = accepted[start : start + BATCH]
            records.keep_all(part, provenance=provenance, by=by)
            GatewayPending.objects.get_or_create(
                workspace_id=gateway_user.actor.workspace_id,
                digest=_pending(gateway_user, place, session_id),
            )
    return Added(len(messages), len(messages) - len(accepted))


def _settle(gateway_user: GatewayUser, place: AppProject, session_id: str) -> None:
    """Wait up to SETTLE_SECONDS for the embeddings of a session's newest messages."""
    filters = _query(gateway_user, place, session_id=session_id)
    rows = records.page(filters, limit=SETTLED, by=gateway_user.actor).rows
    entry_rows = JournalEntry.objects.filter(
        workspace_id=gateway_user.actor.workspace_id,
        pk__in=[row.current_entry_id for row in rows if row.current_entry_id],
    )
    pending, end = list(entry_rows), time.monotonic() + SETTLE_SECONDS
    while pending and time.monotonic() < end:
        states = ranker.ranker().states(pending)
        pending = [entry for entry in pending if states[entry.id].state == "pending"]
        if pending:
            time.sleep(STEP_SECONDS)


def flush(gateway_user: GatewayUser, place: AppProject, session_id: str) -> bool:
    """Make what was added searchable; return whether there was anything. Idempotent."""
    gateway_user.actor.require("records.write")
    check_session(gateway_user, session_id)
    pending_rows = GatewayPending.objects.filter(
        workspace_id=gateway_user.actor.workspace_id
    )
    deleted, _ = pending_rows.filter(
        digest=_pending(gateway_user, place, session_id)
    ).delete()
    # A client that never flushes leaves its row behind.
    pending_rows.filter(since__lt=timezone.now() - FORGOTTEN_AFTER).delete()
    if deleted:
        _settle(gateway_user, place, session_id)
    return bool(deleted)

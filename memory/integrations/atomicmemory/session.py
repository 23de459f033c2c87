"""A call's provider, scope and limits, and the errors of AtomicMemory's API."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, replace
from typing import Any, Final

from memory import records
from memory.integrations.atomicmemory.contract import types
from memory.integrations.atomicmemory.provider import mapping
from memory.integrations.atomicmemory.provider.provider import NativeProvider
from memory.integrations.atomicmemory.provider.statistics import RecordScope
from memory.integrations.atomicmemory.schemas import SearchIn, UserScoped
from memory.integrations.base import Answer, Call, agent_only, headers_of
from memory.rules import errors
from memory.rules.scopes import Scope

PAGE: Final = 20
MAX_PAGE: Final = 100
RESERVED: Final = frozenset(
    "cmo_id headline memberMemoryIds member_memory_ids abstract overview".split()
)
ASSERTED: Final = "X-AtomicMemory-Asserted-User"
# The API's own statuses: invalid requests are 400, held texts 422.
STATUSES: Final = {422: 400}
ERROR_CODES: Final = {
    "held": "content_held",
    "raw_content_rejected": "raw_content_rejected",
}
ERROR_FIELDS: Final = ("held_id",)


class RawContent(errors.Invalid):
    """The installation accepts classified text only."""

    code, status = "raw_content_rejected", 422
    sentence = "Raw or unclassified text is not accepted here: send a content_class."


class NotOffered(errors.AppError):
    """The API has the address; this server does not implement it."""

    code, status, title = "not_offered", 501, "Not offered"
    sentence = "This server does not do this: {why}."


class Disabled(errors.AppError):
    """Settings are changed where the server is started, not by this API."""

    code, status, title = "disabled", 410, "Switched off"
    sentence = "Settings are not changed over this API."


def refuse(error: errors.AppError) -> Answer:
    """Return ``{error}``, with ``error_code`` where the text itself was refused."""
    code = ERROR_CODES.get(error.problem_code)
    body: dict[str, Any] = {"error": error.detail}
    if code is None:
        status = STATUSES.get(error.status, error.status)
        return Answer(body, status, headers_of(error))
    fields = {name: error.fields[name] for name in ERROR_FIELDS if name in error.fields}
    return Answer({**body, "error_code": code, **fields}, 422)


def _check_user(call: Call, user_id: str) -> None:
    """Raise Forbidden when the header asserts another user than the body."""
    asserted = call.headers.get(ASSERTED)
    if asserted is not None and not hmac.compare_digest(
        asserted.encode(), user_id.encode()
    ):
        detail = "The asserted user is another than the body's."
        raise errors.Forbidden(detail, code="asserted_user")


def scope_of(
    request: UserScoped, *, thread: str | None, namespace: str | None
) -> types.Scope:
    """Return a request's scope; the caller's workspace becomes a namespace."""
    if request.workspace_id and not request.agent_id:
        raise errors.Invalid("agent_id: is needed with workspace_id.")
    if request.workspace_id:
        below = f"/{namespace}" if namespace else ""
        namespace = f"workspace:{request.workspace_id}{below}"
    return types.Scope(user=request.user_id, namespace=namespace, thread=thread)


@dataclass(frozen=True, slots=True)
class Session:
    """An initialized provider, and the scope of the call."""

    provider: NativeProvider
    scope: types.Scope
    record_scope: RecordScope

    def ref(self, memory_id: str) -> types.MemoryRef:
        """Return a memory within the call's scope."""
        return types.MemoryRef(id=memory_id, scope=self.scope)


def open_session(
    call: Call,
    request: UserScoped,
    action: str,
    *,
    thread: str | None = None,
    namespace: str | None = None,
) -> Session:
    """Return a call's session; an agent's key sees its own memory and its crew's."""
    by = agent_only(call.by, action)
    _check_user(call, request.user_id)
    scope = scope_of(request, thread=thread, namespace=namespace)
    owner = records.owner_for(by)
    provider = NativeProvider(by, owner)
    provider.initialize()
    return Session(provider, scope, RecordScope(owner, mapping.scope_in(scope), by))


def user_records(session: Session) -> RecordScope:
    """Return the records of the user alone, whatever else the call names."""
    return replace(session.record_scope, scope=Scope(user=session.scope.user or ""))


def number(value: Any, default: int, minimum: int, maximum: int) -> int:
    """Return a value clamped to its bounds; the default for anything but a number."""
    if isinstance(value, bool):
        return default
    try:
        return max(minimum, min(maximum, int(value)))
    except (TypeError, ValueError, OverflowError):
        return default


def check_agent_scope(request: SearchIn) -> str | None:
    """Return the agent to filter by: None for ``all``, the caller's for ``self``."""
    if request.agent_scope in (None, "all"):
        return None
    if request.agent_scope != "self":
        raise NotOffered(why="agent_scope is all or self")
    if request.agent_id is None:
        raise errors.Invalid("agent_id: is needed with agent_scope self.")
    return request.agent_id

"""The Memory Gateway's routes at ``/gateway``: search, add, flush.

The credential, user and key, is in the body. Unknown fields of a body are ignored;
error responses name the field at fault and repeat no value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from memory.integrations.base import (
    Answer,
    Call,
    Dialect,
    Route,
    headers_of,
    parse,
    token_of,
)
from memory.integrations.gateway import server as gateway_server
from memory.integrations.gateway import users
from memory.integrations.gateway.schemas import AddIn, Credentials, SearchIn, SessionIn
from memory.integrations.gateway.server import AppProject
from memory.integrations.gateway.users import GatewayUser
from memory.rules import errors
from memory.rules.permissions import Actor

# A key as we issue them. Inside a string its quotation marks would be escaped.
_KEY: Final = re.compile(rb'"user_key"\s{0,16}:\s{0,16}"(uk_[A-Za-z0-9_-]{20,128})"')
ANSWER_401: Final = "Unknown user or wrong key."


def _authenticate(call: Call) -> Actor | None:
    """Return the agent that a user acts for; leave the user in ``call.state``."""
    credentials = parse(Credentials, call.body)
    gateway_user = users.authenticate(credentials.user_id, credentials.user_key)
    if gateway_user is None:
        return None
    call.state["gateway_user"], call.state["credentials"] = gateway_user, credentials
    return gateway_user.actor


def is_known(headers: Mapping[str, str], start: bytes) -> bool:
    """Whether a request shows a user key that works, before its body is read.

    In a header, or in the first bytes of the body. Who the request is from is decided
    by the whole body; this only detects requests without any working key.
    """
    token = token_of(headers)
    if token and users.is_active(token):
        return True
    match = _KEY.search(start)
    return match is not None and users.is_active(match[1].decode())


def _gateway_user(call: Call, action: str) -> tuple[GatewayUser, AppProject]:
    gateway_user: GatewayUser = call.state["gateway_user"]
    credentials: Credentials = call.state["credentials"]
    gateway_user.actor.require(action)
    users.permit(
        gateway_user.key,
        app_id=credentials.app_id,
        project_id=credentials.project_id,
        agent_id=credentials.agent_id or "",
    )
    return gateway_user, AppProject(
        app_id=credentials.app_id, project_id=credentials.project_id
    )


def search(call: Call) -> dict[str, Any]:
    """Return the memories that answer a query."""
    gateway_user, place = _gateway_user(call, "records.read")
    results = gateway_server.search(gateway_user, place, call.read(SearchIn))
    return {"results": [_result(result) for result in results]}


def _result(result: gateway_server.Result) -> dict[str, Any]:
    record = result.record
    raw = {name: record.metadata.get(name) for name in ("role", "timestamp")}
    return {
        "id": record.id,
        "session_id": record.session_id,
        "text": record.content,
        "score": result.score,
        "source_scope": result.source_scope.value,
        "resource_uri": gateway_server.resource_uri(record),
        "raw": raw,
    }


def add(call: Call) -> dict[str, Any]:
    """Store the messages of a conversation."""
    gateway_user, place = _gateway_user(call, "records.write")
    body = call.read(AddIn)
    added = gateway_server.add(gateway_user, place, body.session_id, body.messages)
    return {"status": "accumulated", "message_count": added.count, "held": added.held}


def flush(call: Call) -> dict[str, str]:
    """Make what was added searchable."""
    gateway_user, place = _gateway_user(call, "records.write")
    flushed = gateway_server.flush(gateway_user, place, call.read(SessionIn).session_id)
    return {"status": "extracted" if flushed else "no_extraction"}


def health(_call: Call) -> dict[str, Any]:
    """Return the static state; needs no key."""
    return {"status": "ok", "api": {"status": "ok"}, "backend": {"status": "ok"}}


def _detail(error: errors.AppError) -> Any:
    """Return an error in FastAPI's form, without the values sent."""
    if error.status == errors.Unauthenticated.status:
        return ANSWER_401
    faults = error.fields.get("errors")
    if error.status != errors.Invalid.status or not isinstance(faults, list):
        return error.detail
    return [
        {
            "loc": ["body", *filter(None, str(fault["field"]).split("."))],
            "msg": fault["message"],
            "type": fault["code"],
        }
        for fault in faults
    ]


def refuse(error: errors.AppError) -> Answer:
    """Answer ``{detail}``; the credential is in the body, so no scheme is named."""
    headers = headers_of(error)
    headers.pop("WWW-Authenticate", None)
    return Answer({"detail": _detail(error)}, error.status, headers)


DIALECT: Final = Dialect(
    prefix="/gateway",
    routes=(
        Route("health", {"GET": health}, is_open=True),
        Route("memories/search", {"POST": search}),
        Route("memories/add", {"POST": add}),
        Route("memories/flush", {"POST": flush}),
    ),
    refuse=refuse,
    authenticate=_authenticate,
    reads_first=True,
    is_known=is_known,
    body_bytes=8 * 1024 * 1024,
)

"""Mounts the Model Context Protocol: credential, rate, and JSON read strictly first."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.urls import URLPattern, re_path
from django_mcpz.jsonrpc import PARSE_ERROR, error_response

from crewship_memory import body, problems, write_guard
from crewship_memory.throttle import KeyThrottle
from memory import keys, toolbox
from memory.doors import mcp
from memory.doors.dialects.common import token_of
from memory.rules import errors

BODY_BYTES: Final = 1024 * 1024
_throttle = KeyThrottle(settings.RATE_LIMIT)


def _let_in(request: HttpRequest) -> None:
    token = token_of(request.headers)
    actor = keys.authenticate(token) if token else None
    if actor is None:
        raise errors.Unauthenticated
    request.auth = actor  # type: ignore[attr-defined]
    if not _throttle.allow_request(request):
        raise errors.TooMany(retry_after=max(1, round(_throttle.wait())))


def _read(request: HttpRequest) -> object:
    """Refuse a body that is large, deep, or no honest JSON before anybody reads it."""
    raw = request.body
    if len(raw) > BODY_BYTES:
        raise errors.TooLarge(what="The body", limit=BODY_BYTES, size=len(raw))
    return body.StrictParser().parse_body(request)


def _writes(message: object) -> bool:
    """Whether a message calls a tool that may change something."""
    if isinstance(message, list):
        return any(map(_writes, message))
    if not isinstance(message, dict) or message.get("method") != "tools/call":
        return False
    params = message.get("params")
    name = params.get("name") if isinstance(params, dict) else None
    return not any(t.name == name and t.reads_only for t in toolbox.registered())


def knock(request: HttpRequest) -> HttpResponse | None:
    """Put the actor on a request, or return the refusal."""
    try:
        _let_in(request)
    except errors.HouseError as error:
        return problems.response(error)
    try:
        message = _read(request)
    except (RequestDataTooBig, UnreadablePostError):
        return error_response(
            None, PARSE_ERROR, "Unreadable body", status=HTTPStatus.BAD_REQUEST
        )
    except errors.HouseError as error:
        status = HTTPStatus(error.status)
        return error_response(None, PARSE_ERROR, error.detail, status=status)
    return write_guard.refusal(request) if _writes(message) else None


def mounted() -> list[URLPattern]:
    """Return the one address, with a slash at its end or without."""
    return [re_path(r"^mcp/?$", mcp.build(knock), name="mcp")]

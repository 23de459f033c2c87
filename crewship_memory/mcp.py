"""Mount the Model Context Protocol: credential, rate limit, strict JSON."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.urls import URLPattern, re_path
from django.views.decorators.csrf import csrf_exempt
from django_mcpz.jsonrpc import PARSE_ERROR, error_response

from crewship_memory import json_parser, problem_details, serving_gate
from crewship_memory.auth import named_end_user
from crewship_memory.json_parser import Limit
from crewship_memory.middleware import write_guard
from crewship_memory.throttle import KeyThrottle
from crewship_memory.version import VERSION
from memory import tool_registry
from memory.accounts import api_keys
from memory.api import mcp
from memory.integrations.base import token_of
from memory.rules import end_users, errors

BODY: Final = Limit(1024 * 1024, 20_000)
_throttle = KeyThrottle(settings.RATE_LIMIT)


def _let_in(request: HttpRequest) -> None:
    token = token_of(request.headers)
    actor = api_keys.authenticate(token) if token else None
    if actor is None:
        raise errors.Unauthenticated
    serving_gate.require(request, actor)
    request.auth = actor  # type: ignore[attr-defined]
    if not _throttle.allow_request(request):
        raise errors.TooMany(retry_after=max(1, round(_throttle.wait())))


def _meta_user(document: Any) -> str | None:
    """Return the end user whom the metadata of an MCP request names."""
    for name in ("params", "_meta"):
        document = document.get(name) if isinstance(document, dict) else None
    user = document.get(end_users.META) if isinstance(document, dict) else None
    return user if user is None or isinstance(user, str) else ""


def _writes(message: object) -> bool:
    """Whether a message calls a tool that can write."""
    if isinstance(message, list):
        return any(map(_writes, message))
    if not isinstance(message, dict) or message.get("method") != "tools/call":
        return False
    params = message.get("params")
    name = params.get("name") if isinstance(params, dict) else None
    return not any(t.name == name and t.reads_only for t in tool_registry.registered())


def authenticated(request: HttpRequest) -> HttpResponse | None:
    """Set the actor of a request, or return the error response."""
    try:
        _let_in(request)
    except errors.AppError as error:
        return problem_details.response(error)
    try:
        raw = request.body
        json_parser.check_kind(request)
        message = json_parser.read(raw, BODY)
        users = [named_end_user(request), _meta_user(message)]
        request.auth = end_users.with_end_user(request.auth, users)  # type: ignore[attr-defined]
    except (RequestDataTooBig, UnreadablePostError):
        return error_response(
            None, PARSE_ERROR, "Unreadable body", status=HTTPStatus.BAD_REQUEST
        )
    except errors.AppError as error:
        status = HTTPStatus(error.status)
        return error_response(None, PARSE_ERROR, error.detail, status=status)
    return write_guard.refusal(request) if _writes(message) else None


def _view() -> Callable[..., HttpResponse]:
    """Return the MCP server as a view; an outage in a tool is a problem document."""
    server = mcp.build(authenticated, version=VERSION)

    # As the server itself: it wants a key, and no browser comes here.
    @csrf_exempt
    @login_not_required
    def view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        answer = server(request, *args, **kwargs)
        outage = mcp.outage_of(request)
        return answer if outage is None else problem_details.response(outage)

    view.body_limit = BODY  # type: ignore[attr-defined]
    return view


def url_patterns() -> list[URLPattern]:
    """Return the URL pattern, with an optional trailing slash."""
    return [re_path(r"^mcp/?$", _view(), name="mcp")]

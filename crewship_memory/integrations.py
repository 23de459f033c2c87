"""Mount the integrations: patterns, credential, rate limit, strict JSON, errors."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Final

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.urls import URLPattern, re_path
from django.views.decorators.csrf import csrf_exempt

from crewship_memory import json_parser, problem_details, serving_gate, throttle
from crewship_memory.json_parser import Limit
from crewship_memory.throttle import KeyThrottle
from memory.integrations import registry
from memory.integrations.base import Answer, Call, Dialect, Route
from memory.rules import errors

UNKNOWN_BYTES: Final = 64 * 1024
BODY_VALUES: Final = 20_000
_TOO_LARGE_UNKNOWN: Final = (
    "Without a key that works a body may hold 64 KiB. A larger one names user_key among"
    " its first fields, or sends the same key as Authorization: Bearer as well."
)
_PART: Final = re.compile(r"<(path:)?(\w+)>")
_throttle = KeyThrottle(settings.RATE_LIMIT)


def _pattern(dialect: Dialect, path: str) -> str:
    """Return the regular expression of an address; the last slash may be there."""
    address = f"{dialect.prefix.strip('/')}/{path}".rstrip("/")
    parts, position = [], 0
    for match in _PART.finditer(address):
        parts.append(re.escape(address[position : match.start()]))
        # A path may hold line breaks, which a bare full stop does not match.
        parts.append(f"(?P<{match[2]}>{'(?s:.+?)' if match[1] else '[^/]+'})")
        position = match.end()
    parts.append(re.escape(address[position:]))
    return f"^{''.join(parts)}/?$"


def _check(request: HttpRequest) -> None:
    if "\x00" in request.path:
        raise errors.NotFound
    if any("\x00" in text for texts in request.GET.lists() for text in texts[1]):
        detail = "The query holds a NUL character."
        raise errors.Invalid(detail, code="bad_text")


def _read(request: HttpRequest, call: Call, limit: Limit) -> None:
    """Read the body, if any; a DELETE may have one."""
    if raw := request.body:
        json_parser.check_kind(request)
        call.body = json_parser.read(raw, limit)


def _read_first(
    dialect: Dialect, request: HttpRequest, call: Call, limit: Limit
) -> None:
    """Read a body that holds the credential: all of it only with a working key.

    Other requests are counted by address, and at most 64 KiB of them are read.
    """
    start = request.read(UNKNOWN_BYTES)
    has_key = dialect.is_known is not None and dialect.is_known(request.headers, start)
    if not has_key:
        throttle.charge(request)
    rest = request.read(limit.size + 1 if has_key else 1)
    if rest and not has_key:
        raise errors.TooLarge(_TOO_LARGE_UNKNOWN, limit=UNKNOWN_BYTES)
    if start:
        json_parser.check_kind(request)
        call.body = json_parser.read(start + rest, limit)


def _limit(dialect: Dialect) -> Limit:
    return Limit(dialect.body_bytes, BODY_VALUES)


def _authenticate(dialect: Dialect, request: HttpRequest, call: Call) -> None:
    call.actor = dialect.authenticate(call)
    if call.actor is None:
        raise errors.Unauthenticated
    serving_gate.require(request, call.actor)
    request.auth = call.actor  # type: ignore[attr-defined]
    if not _throttle.allow_request(request):
        raise errors.TooMany(retry_after=max(1, round(_throttle.wait())))


def _serve(
    dialect: Dialect, route: Route, request: HttpRequest, path_params: dict[str, str]
) -> Answer:
    _check(request)
    method = "GET" if request.method == "HEAD" else request.method or ""
    handler = route.methods.get(method)
    if handler is None:
        allow = ", ".join(sorted({*route.methods, "OPTIONS"}))
        if method == "OPTIONS":
            return Answer(None, 204, {"Allow": allow})
        raise problem_details.NoSuchMethod(allow=allow)
    call = Call(
        method=method,
        path_params=path_params,
        query=request.GET.dict(),
        headers=request.headers,
    )
    limit = _limit(dialect)
    if dialect.reads_first and not route.is_open:
        _read_first(dialect, request, call, limit)
    if not route.is_open:
        _authenticate(dialect, request, call)
    if not dialect.reads_first:
        _read(request, call, limit)
    result = handler(call)
    return result if isinstance(result, Answer) else Answer(result)


def respond(answer: Answer) -> HttpResponse:
    """Convert an Answer to Django's response."""
    if answer.data is None:
        response = HttpResponse(status=answer.status)
    else:
        text = json.dumps(answer.data, ensure_ascii=False, allow_nan=False)
        response = HttpResponse(
            text, status=answer.status, content_type="application/json"
        )
    for name, value in answer.headers.items():
        response[name] = value
    return response


def _view(
    dialect: Dialect, route: Route, request: HttpRequest, **path_params: str
) -> HttpResponse:
    try:
        return respond(_serve(dialect, route, request, path_params))
    except Exception as error:  # noqa: BLE001  (each dialect has its own errors)
        kinds = (errors.AppError, RequestDataTooBig, UnreadablePostError, Exception)
        kind = next(kind for kind in kinds if isinstance(error, kind))
        return respond(dialect.refuse(problem_details.MEANINGS[kind](error)))


def _not_found(_call: Call) -> Answer:
    raise errors.NotFound


def _routes(dialect: Dialect) -> list[URLPattern]:
    methods = ("GET", "POST", "PUT", "PATCH", "DELETE")
    rest = Route("<path:rest>", dict.fromkeys(methods, _not_found), is_open=True)
    patterns = []
    for route in (*dialect.routes, Route("", rest.methods, is_open=True), rest):
        # No login and no CSRF check: it requires a key.
        view = csrf_exempt(login_not_required(partial(_view, dialect, route)))
        view.body_limit = _limit(dialect)  # type: ignore[attr-defined]
        patterns.append(re_path(_pattern(dialect, route.path), view))
    return patterns


def url_patterns() -> list[URLPattern]:
    """Return the routes of every dialect, with its own 404 for unknown paths."""
    return [url for dialect in registry.dialects() for url in _routes(dialect)]

"""Errors as problem+json (RFC 9457) or as a page; HTTP statuses are named here only."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import structlog
from django.core.exceptions import RequestDataTooBig
from django.db import DataError
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.shortcuts import render
from django.utils.translation import gettext, gettext_noop
from ninja import NinjaAPI, Schema
from ninja.errors import (
    AuthenticationError,
    HttpError,
    Throttled,
    ValidationError,
)
from ninja.openapi.schema import OpenAPISchema
from pydantic import ConfigDict

from memory import outages
from memory.rules import errors

CONTENT_TYPE: Final = "application/problem+json"
log = structlog.get_logger(__name__)


class Problem(Schema):
    """An error of RFC 9457 with a stable code."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    code: str


# What any operation may be refused with, what only one that reads a body, and what
# only one that changes something.
ANY: Final = (401, 403, 404, 422, 429, 503)
WITH_BODY: Final = (400, 413, 415)
THAT_WRITES: Final = (409, 507)
TITLES: Final = {
    400: "Not readable",
    401: "Not signed in",
    403: "Not allowed",
    404: "Missing, or not yours",
    409: "The state of things forbids it",
    413: "Too large",
    415: "Not JSON",
    422: "The request makes no sense",
    429: "Slower, please",
    503: "Not available now",
    507: "No room left",
}


def body(error: errors.AppError) -> dict[str, Any]:
    code = error.problem_code
    return {
        **error.fields,
        "type": f"urn:crewship-memory:problem:{code}",
        "title": error.title,
        "status": error.status,
        "detail": error.detail,
        "code": code,
    }


def headers(error: errors.AppError) -> dict[str, str]:
    """Return Retry-After (seconds) and WWW-Authenticate where they apply."""
    headers_out = {}
    if isinstance(error, errors.TooMany) or "retry_after" in error.fields:
        headers_out["Retry-After"] = str(error.fields.get("retry_after", 1))
    if isinstance(error, errors.Unauthenticated):
        headers_out["WWW-Authenticate"] = 'Bearer realm="crewship-memory"'
    return headers_out


def response(error: errors.AppError) -> HttpResponse:
    """Return an error as problem+json, with Retry-After and WWW-Authenticate."""
    answer = HttpResponse(
        json.dumps(body(error), ensure_ascii=False),
        content_type=CONTENT_TYPE,
        status=error.status,
    )
    for name, value in headers(error).items():
        answer[name] = value
    return answer


def page(request: HttpRequest, error: errors.AppError) -> HttpResponse:
    """Return an error as a page, or as a fragment for htmx, with its real status."""
    htmx = getattr(request, "htmx", None)
    part = "#message" if htmx and not htmx.boosted else ""
    return render(request, f"error.html{part}", {"error": error}, status=error.status)


def _location(loc: tuple[Any, ...]) -> str:
    """Return the location of a field, without ninja's parameter names."""
    hidden = ("body", "query", "path", "header", "payload_in", "data")
    path = ".".join(str(part)[:80] for part in loc if part not in hidden)
    return path[:200] or "body"


def _invalid(error: ValidationError) -> errors.Invalid:
    """Return field errors as sentences that never repeat the input."""
    faults = [
        {
            "field": _location(tuple(fault.get("loc", ()))),
            "code": str(fault.get("type", "invalid")),
            "message": str(fault.get("msg", "invalid")),
        }
        for fault in error.errors[:20]
    ]
    first = faults[0] if faults else {"field": "body", "message": "invalid"}
    return errors.Invalid(f"{first['field']}: {first['message']}", errors=faults)


class BadRequest(errors.AppError):
    """The body cannot be read: broken JSON or encoding."""

    code, status, title = "bad_request", 400, gettext_noop("Not readable")
    sentence = gettext_noop("The body is not valid JSON.")


class Unsupported(errors.AppError):
    """The content type is not supported."""

    code, status, title = (
        "unsupported_media_type",
        415,
        gettext_noop("Unsupported media type"),
    )
    sentence = gettext_noop("Send JSON: Content-Type application/json.")


class AddressTooLong(errors.AppError):
    """Path and query are longer than the limit."""

    code, status, title = "address_too_long", 414, gettext_noop("Address too long")
    sentence = gettext_noop("The address with its query is too long.")


class HeadersTooLarge(errors.AppError):
    """The headers are larger than the limit."""

    code, status, title = "headers_too_large", 431, gettext_noop("Headers too large")
    sentence = gettext_noop("The headers of the request are too large.")


class NoSuchMethod(errors.AppError):
    """The path does not have this method."""

    code, status, title = "method_not_allowed", 405, gettext_noop("Method not allowed")
    sentence = gettext_noop(
        "This address does not know this method; Allow names those it does."
    )


def _statuses(method: str, operation: dict[str, Any]) -> list[int]:
    """Return the error statuses that an operation may answer with."""
    statuses = list(ANY)
    if "requestBody" in operation:
        statuses += WITH_BODY
    if method != "get":
        statuses += THAT_WRITES
    return sorted(statuses)


def declare(document: OpenAPISchema) -> OpenAPISchema:
    """Add the possible problems to every operation of the document.

    An operation that declares one of them itself keeps its own words.
    """
    schema = Problem.model_json_schema()
    document["components"].setdefault("schemas", {})["Problem"] = schema
    shape = {"$ref": "#/components/schemas/Problem"}
    for path in document["paths"].values():
        for method, operation in path.items():
            operation.setdefault("parameters", [])
            for status in _statuses(method, operation):
                refusal = {
                    "description": TITLES[status],
                    "content": {CONTENT_TYPE: {"schema": shape}},
                }
                operation["responses"].setdefault(status, refusal)
    return document


def _of_http(error: HttpError) -> errors.AppError:
    if isinstance(error.__cause__, errors.AppError):
        # Ninja wraps what the body's reader raised.
        return error.__cause__
    kinds = {401: errors.Unauthenticated, 404: errors.NotFound}
    kind = kinds.get(error.status_code)
    if kind is None:
        return BadRequest()
    return kind()


def _bug(error: Exception) -> errors.AppError:
    if isinstance(error, ValueError | DataError) and "NUL (0x00)" in str(error):
        # PostgreSQL's driver, one way or the other: no text there holds a NUL.
        # SQLite finds nothing instead.
        return errors.Invalid("A text holds a NUL character.", code="bad_text")
    outage = outages.meaning(error)
    if outage is not None:
        log.error("outage", code=outage.problem_code, error=type(error).__name__)
        return outage
    log.error("unexpected_error", error=type(error).__name__, exc_info=error)
    return errors.AppError(gettext("Something went wrong on our side."))


# What each exception means; the most particular class decides.
MEANINGS: Final[dict[type[Exception], Callable[[Any], errors.AppError]]] = {
    errors.AppError: lambda error: error,
    ValidationError: _invalid,
    AuthenticationError: lambda _: errors.Unauthenticated(),
    Throttled: lambda e: errors.TooMany(retry_after=max(1, round(e.wait or 1))),
    HttpError: _of_http,
    RequestDataTooBig: lambda _: errors.TooLarge(gettext("The body is too large.")),
    UnreadablePostError: lambda _: BadRequest(),
    Exception: _bug,
}


def install(api: NinjaAPI) -> None:
    """Register one exception handler for every error of an API."""
    for kind, meaning in MEANINGS.items():
        api.add_exception_handler(kind, partial(_answer, meaning))


def _answer(
    meaning: Callable[[Any], errors.AppError], _request: HttpRequest, error: Any
) -> HttpResponse:
    return response(meaning(error))

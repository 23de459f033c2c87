"""Size limits by route, checked before the body is read.

A route that needs more than the default is listed in ``ROUTES``; the routes of
integrations and of MCP carry their limit as an attribute of the view. A body without a
length is read by the WSGI entry up to the same limit, see ``with_length``.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, resolve
from django.utils.translation import gettext

from crewship_memory import error_responses, problem_details
from crewship_memory.json_parser import KIB, SMALL, Limit
from memory.rules import errors

MIB: Final = 1024 * KIB
URL_CHARS: Final = 8_190
HEADER_CHARS: Final = 64 * KIB
# A payload of 256 KiB and references of 64 KiB may be three times as long in escapes.
ENTRY: Final = Limit(MIB, 50_000)
BATCH: Final = Limit(8 * MIB, 200_000)
# Pages: the longest text that a form takes, percent-encoded. Nobody signed in: a login.
FORM: Final = Limit(MIB)
OPEN_FORM: Final = Limit(64 * KIB)

# Keys are routes as the resolver names them.
ROUTES: Final[dict[str, Limit]] = {
    "api/v1/journal": ENTRY,
    "api/v1/journal/batch": BATCH,
    # Content of 64 KiB and metadata of 32 KiB, in escapes.
    "api/v1/records": Limit(512 * KIB),
    "api/v1/records/<record_id>": Limit(512 * KIB),
    "api/v1/records/supersede": Limit(512 * KIB),
    # Two texts of 65,536 characters, in escapes.
    "api/v1/turns/recall": Limit(MIB),
    "api/v1/turns/persist": Limit(2 * MIB),
    # Two thousand documents; an import is an admin's.
    "api/v1/memory/import": Limit(16 * MIB, 50_000),
    # Anonymous: exactly as large as a certificate may be.
    "api/v1/gdpr/certificates/verify": SMALL,
    # A certificate as a file, or percent-encoded as text.
    "certificates/check/": FORM,
    # A file of entries, and the form around it.
    "journal/import/": Limit(16 * MIB + 64 * KIB),
    # A document whose digest is kept; it is written to disk while it arrives.
    "privacy/cases/<str:case_id>/attach/": Limit(32 * MIB),
}


def of(route: str, path: str, view: Callable[..., Any] | None = None) -> Limit:
    declared = getattr(view, "body_limit", None)
    if isinstance(declared, Limit):
        return declared
    if route in ROUTES:
        return ROUTES[route]
    if error_responses.is_for_programs(path):
        return SMALL
    return (
        OPEN_FORM if path.startswith(("/accounts/", "/login/", "/requests/")) else FORM
    )


def of_path(path: str) -> Limit:
    """Return the limit of a path; the default for an unknown one."""
    try:
        match = resolve(path)
    except Resolver404:
        return SMALL
    return of(match.route, path, match.func)


def _length(request: HttpRequest) -> int:
    try:
        return max(0, int(request.META.get("CONTENT_LENGTH") or 0))
    except ValueError:
        return 0


def _head_fault(request: HttpRequest) -> errors.AppError | None:
    """Return the error of a path or headers that are too long, else None."""
    if len(request.get_full_path()) > URL_CHARS:
        return problem_details.AddressTooLong()
    size = sum(
        len(name) + len(value)
        for name, value in request.META.items()
        if name.startswith("HTTP_") and isinstance(value, str)
    )
    return problem_details.HeadersTooLarge() if size > HEADER_CHARS else None


class RequestLimitsMiddleware:
    """Refuses long paths and headers at once, and bodies above their route's limit."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Check path and headers."""
        fault = _head_fault(request)
        return (
            error_responses.respond(request, fault)
            if fault
            else self.get_response(request)
        )

    def process_view(
        self, request: HttpRequest, view: Any, _args: Any, _kwargs: Any
    ) -> HttpResponse | None:
        """Check Content-Length and leave the limit on the request.

        Before the CSRF check, which reads forms.
        """
        match = request.resolver_match
        limit = of(match.route if match else "", request.path, view)
        request.body_limit = limit  # type: ignore[attr-defined]
        size = _length(request)
        if size <= limit.size:
            return None
        error = errors.TooLarge(what=gettext("The body"), limit=limit.size, size=size)
        return error_responses.respond(request, error)


def with_length(environ: dict[str, Any]) -> dict[str, Any]:
    """Buffer a chunked body and set its length, because Django reads no other.

    At most one byte more than its route allows is read; then it is refused by length.
    """
    chunked = "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower()
    if not chunked or environ.get("CONTENT_LENGTH"):
        return environ
    if not environ.get("wsgi.input_terminated"):
        return environ
    limit = of_path(environ.get("PATH_INFO", "/")).size + 1
    parts, remaining = [], limit
    while remaining > 0 and (
        part := environ["wsgi.input"].read(min(remaining, 64 * KIB))
    ):
        parts.append(part)
        remaining -= len(part)
    raw = b"".join(parts)
    return {
        **environ,
        "wsgi.input": io.BytesIO(raw),
        "CONTENT_LENGTH": str(len(raw)),
    }

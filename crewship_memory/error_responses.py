"""Errors in the client's format: problem+json, an integration's own, or a page.

Also what Django itself refuses or fails at, outside of any view, comes here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views import defaults

from crewship_memory import integrations, problem_details
from memory import outages
from memory.accounts import languages
from memory.integrations import registry
from memory.rules import errors

PROBLEM_PREFIXES: Final = ("/api/", "/mcp", "/livez", "/readyz", "/metrics")


def is_for_programs(path: str) -> bool:
    """Whether only programs, never browsers, use this address."""
    return path.startswith(PROBLEM_PREFIXES) or registry.dialect_at(path) is not None


def _page(error: errors.AppError) -> HttpResponse:
    """Return an error page that uses neither database nor session."""
    text = render_to_string("outage.html", {"error": error})
    return HttpResponse(text, status=error.status)


def respond(request: HttpRequest, error: errors.AppError) -> HttpResponse:
    """Return an error in the format of the address."""
    dialect = registry.dialect_at(request.path)
    if dialect is not None:
        return integrations.respond(dialect.refuse(error))
    if is_for_programs(request.path):
        return problem_details.response(error)
    answer = _page(error)
    for name, value in problem_details.headers(error).items():
        answer[name] = value
    return answer


# ── What Django refuses ──────────────────────────────────────────────────────
def _handler(
    error: errors.AppError, page: Callable[[HttpRequest, Exception], HttpResponse]
) -> Callable[[HttpRequest, Exception], HttpResponse]:
    """Return a handler of Django's: the error for programs, its page for browsers."""

    def handle(request: HttpRequest, exception: Exception) -> HttpResponse:
        if is_for_programs(request.path):
            return respond(request, error)
        # An unknown address never came to a view, where the language is settled.
        languages.activate_for(getattr(request, "user", None))
        return page(request, exception)

    return handle


# A wrong host, or too many fields.
bad_request = _handler(
    problem_details.BadRequest("The request cannot be read."), defaults.bad_request
)
forbidden = _handler(
    errors.Forbidden("This is not allowed."), defaults.permission_denied
)
not_found = _handler(errors.NotFound(), defaults.page_not_found)


def failed(request: HttpRequest) -> HttpResponse:
    """Handle an uncaught exception: a known outage as 503, anything else as 500.

    Django calls this while it handles the exception, and has logged it.
    """
    error = sys.exc_info()[1]
    outage = outages.meaning(error) if isinstance(error, Exception) else None
    if outage is not None:
        return respond(request, outage)
    if is_for_programs(request.path):
        detail = "Something went wrong on our side."
        return respond(request, errors.AppError(detail))
    return defaults.server_error(request)

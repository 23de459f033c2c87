"""Every refusal in the shape of whoever asked: problem+json, a dialect's own, a page.

Also what Django itself refuses or fails at, outside of any view, comes here.
"""

from __future__ import annotations

import sys
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views import defaults

from crewship_memory import integrations, problem_details
from memory import outages
from memory.integrations import registry
from memory.rules import errors

PROBLEM_PREFIXES: Final = ("/api/", "/mcp", "/livez", "/readyz", "/metrics")


class _BadRequest(errors.HouseError):
    code, status, title = "bad_request", 400, "Not readable"
    sentence = "The request cannot be read."


def is_for_programs(path: str) -> bool:
    """Whether programs ask here, and never a person with a browser."""
    return path.startswith(PROBLEM_PREFIXES) or registry.dialect_at(path) is not None


def _page(error: errors.HouseError) -> HttpResponse:
    """Return a page that asks nothing of the database, of a session or of anybody."""
    text = render_to_string("outage.html", {"error": error})
    return HttpResponse(text, status=error.status)


def respond(request: HttpRequest, error: errors.HouseError) -> HttpResponse:
    """Return a refusal as the address it was asked at says it."""
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
def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer what Django finds suspicious: a wrong host, too many fields."""
    if is_for_programs(request.path):
        return respond(request, _BadRequest())
    return defaults.bad_request(request, exception)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer what Django does not permit."""
    if is_for_programs(request.path):
        detail = "This is not allowed."
        return respond(request, errors.Forbidden(detail))
    return defaults.permission_denied(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer an address that leads nowhere."""
    if is_for_programs(request.path):
        return respond(request, errors.NotFound())
    return defaults.page_not_found(request, exception)


def failed(request: HttpRequest) -> HttpResponse:
    """Answer what no view caught: an outage by its name, anything else as our fault.

    Django calls this while it handles the exception, and has logged it.
    """
    error = sys.exc_info()[1]
    outage = outages.meaning(error) if isinstance(error, Exception) else None
    if outage is not None:
        return respond(request, outage)
    if is_for_programs(request.path):
        detail = "Something went wrong on our side."
        return respond(request, errors.HouseError(detail))
    return defaults.server_error(request)

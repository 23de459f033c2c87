"""Refuse writes while keys or data folder belong to another installation.

Reading goes on: what is refused is every method that may change something, but for
signing in and for queries that are sent with POST. The services refuse as well,
wherever a call comes from; this answers before a body is read, in one format.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django.http import HttpRequest, HttpResponse

from crewship_memory import problem_details
from crewship_memory.middleware.actor import is_api
from memory import tool_registry
from memory.installation import identity as installation

SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
QUESTIONS: Final = frozenset({"recall", "search", "context", "why"})
SIGNING_IN: Final = frozenset(
    {"account_login", "account_logout", "mfa_authenticate", "login_link"}
)
# The MCP endpoint decides by the message: most tools only read.
MCP: Final = "mcp"


def refusal(request: HttpRequest) -> HttpResponse | None:
    """Return the error for a write, None when writes are allowed."""
    reason: str | None = getattr(request, "installation_problem", None)
    if reason is None:
        return None
    error = installation.NotReady(reason=reason)
    if is_api(request.path):
        return problem_details.response(error)
    return problem_details.page(request, error)


def _only_reads(path: str) -> bool:
    last = path.rstrip("/").rpartition("/")[2]
    if last in QUESTIONS or path.strip("/") == MCP:
        return True
    return any(
        tool.name == last and tool.reads_only for tool in tool_registry.registered()
    )


class WriteGuard:
    """Runs before the session middleware: sessions are signed with a key it checks."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Check keys and folders; the first start makes them."""
        if request.path != "/livez":
            request.installation_problem = installation.problem()  # type: ignore[attr-defined]
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, _view: Any, _args: Any, _kwargs: Any
    ) -> HttpResponse | None:
        """Refuse a write after the view is resolved, so that pages render the error."""
        if request.method in SAFE:
            return None
        from_program = is_api(request.path)
        match = request.resolver_match
        if match is not None and not from_program and match.url_name in SIGNING_IN:
            return None
        if from_program and _only_reads(request.path):
            return None
        return refusal(request)

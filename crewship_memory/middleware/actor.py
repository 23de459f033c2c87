"""The actor of a page request, and the context of the page frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from django_structlog.middlewares import RequestMiddleware

from crewship_memory import (
    auth,
    error_responses,
    log_redaction,
    places,
    problem_details,
    serving_gate,
)
from crewship_memory.version import VERSION
from episodic.consolidation import proposals
from gdpr.cases import overview as case_overview
from memory import outages, workspace_tree
from memory.accounts import invitations
from memory.integrations import registry
from memory.models import Agent, User
from memory.review import queue as review_queue
from memory.rules import errors

if TYPE_CHECKING:
    from memory.rules.permissions import Actor

# Integrations mounted elsewhere are found through their registry.
API_PREFIXES = ("/api/", "/compat/", "/mcp")


def is_api(path: str) -> bool:
    """Return whether a path belongs to programs that send a key, not to pages."""
    return path.startswith(API_PREFIXES) or registry.dialect_at(path) is not None


class RequestLogMiddleware(RequestMiddleware):
    """Logs the route of a request, never its path or query."""

    @staticmethod
    def bind_user_id(request: HttpRequest) -> None:
        """Look for a person where there may be one: a key's request has no session."""
        has_session = settings.SESSION_COOKIE_NAME in request.COOKIES
        if has_session or not is_api(request.path):
            RequestMiddleware.bind_user_id(request)

    @staticmethod
    def format_request(request: HttpRequest) -> str:
        """Return method and route, ``(no route)`` before a view is resolved."""
        return f"{request.method} {log_redaction.route(request)}"


class ActorMiddleware:
    """Sets ``request.actor`` on pages and renders an AppError as a page."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Set the actor; make pages vary on htmx requests."""
        if is_api(request.path):
            return self.get_response(request)
        request.actor = None  # type: ignore[attr-defined]
        if request.user.is_authenticated:
            request.actor = auth.actor_of_session(request)  # type: ignore[attr-defined]
        response = self.get_response(request)
        patch_vary_headers(response, ["HX-Request", "Cookie"])
        return response

    def process_view(
        self, request: HttpRequest, _view: Any, _args: Any, _kwargs: Any
    ) -> HttpResponse | None:
        """Refuse a page of a workspace that is not served after a restore."""
        error = None if is_api(request.path) else serving_gate.page_refusal(request)
        return None if error is None else error_responses.respond(request, error)

    def process_exception(
        self, request: HttpRequest, exception: Exception
    ) -> HttpResponse | None:
        """Render an error or an outage as a page with its status."""
        if isinstance(exception, errors.AppError):
            return problem_details.page(request, exception)
        outage = outages.meaning(exception)
        return None if outage is None else error_responses.respond(request, outage)


def frame(request: HttpRequest) -> dict[str, Any]:
    """Return the context of base.html: person, workspace, counts, other workspaces."""
    actor: Actor | None = getattr(request, "actor", None)
    user = getattr(request, "user", None)
    if not isinstance(user, User):
        return {"actor": None}
    # The footer shows the version, and only to people who are signed in.
    personal = {
        "product_version": VERSION,
        "invited": len(invitations.of_person(user)),
    }
    if actor is None:
        return {**personal, "actor": None}
    agents = Agent.objects.filter(workspace_id=actor.workspace_id)
    return {
        **personal,
        "actor": actor,
        # Not called here: a query only for templates that ask.
        "has_agents": agents.exists,
        "workspace": workspace_tree.workspace(actor),
        "memberships": auth.memberships(user),
        "waiting": review_queue.open_case_count(actor),
        "proposals_waiting": proposals.pending_count(actor),
        "case_numbers": case_overview.case_counts(actor),
        **places.context(actor, request.path, _view_name(request)),
    }


def _view_name(request: HttpRequest) -> str:
    return request.resolver_match.view_name if request.resolver_match else ""

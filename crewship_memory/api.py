"""The JSON API: routers, credentials, rate limits, and one shape for every error."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver
from ninja import NinjaAPI
from ninja.throttling import AuthRateThrottle

from crewship_memory import problems
from crewship_memory.auth import KeyOrSession
from crewship_memory.body import StrictParser
from episodic.doors.api import router as episodic_router
from memory.doors.api import router as journal_router
from memory.doors.api import workspace_router
from memory.rules import errors
from memory.rules.actors import Actor


class KeyThrottle(AuthRateThrottle):
    """Counts requests per key, or per person."""

    def get_cache_key(self, request: HttpRequest) -> str:
        """Return the counter's name."""
        actor: Actor = request.auth  # type: ignore[attr-defined]
        return f"throttle_{actor.key_id or actor.id}"


def known_queries(run: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Refuse query parameters that an operation does not know."""
    operation = run.__self__  # type: ignore[attr-defined]
    known = {
        name
        for model in operation.models
        if model.__ninja_param_source__ == "query"
        for name in model.__ninja_flatten_map__
    }

    @wraps(run)
    def checked(request: HttpRequest, **kwargs: Any) -> HttpResponse:
        unknown = sorted(set(request.GET) - known)
        if unknown:
            faults = [
                {"field": name[:80], "code": "unknown", "message": "is not known here"}
                for name in unknown[:20]
            ]
            detail = "The query names a parameter that is not known here."
            code = "unknown_parameter"
            return problems.response(errors.Invalid(detail, code=code, errors=faults))
        return run(request, **kwargs)

    return checked


api = NinjaAPI(
    title="Crewship Memory",
    version="1",
    description="What AI agents remember: journal, recall, and what keeps them honest.",
    auth=KeyOrSession(),
    parser=StrictParser(),
    throttle=[KeyThrottle(settings.RATE_LIMIT)],
    urls_namespace="api",
    docs_url="/docs",
)
problems.install(api)
api.add_decorator(known_queries, mode="view")
for prefix, router in (
    ("/journal", journal_router),
    ("/episodic", episodic_router),
    ("", workspace_router),
):
    api.add_router(prefix, router)


def open_to_programs(
    urls: tuple[list[URLResolver | URLPattern], str, str],
) -> tuple[list[URLResolver | URLPattern], str, str]:
    """Take an API's addresses out of the login wall: it answers 401, never a redirect.

    The docs page and the OpenAPI document stay open: they hold no data.
    """
    for pattern in urls[0]:
        if isinstance(pattern, URLPattern):
            pattern.callback.login_required = False  # type: ignore[attr-defined]
    return urls

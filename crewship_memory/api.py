"""The JSON API: routers, credentials, rate limits, and one shape for every error."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver
from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema

from crewship_memory import problem_details
from crewship_memory.auth import KeyOrSession
from crewship_memory.json_parser import StrictParser
from crewship_memory.throttle import KeyThrottle
from crewship_memory.version import VERSION
from episodic.api.context import router as context_router
from episodic.api.health import router as health_router
from episodic.api.proposals import router as proposal_router
from episodic.api.questions import router as questions_router
from episodic.api.recall import router as episodic_router
from gdpr.api.cases import router as cases_router
from gdpr.api.certificates import router as certificates_router
from gdpr.api.export_words import router as export_words_router
from gdpr.api.exports import router as exports_router
from gdpr.api.holds import router as holds_router
from gdpr.api.letters import router as letters_router
from gdpr.api.one_call import router as one_call_router
from gdpr.api.recipients import router as recipients_router
from gdpr.api.reports import router as reports_router
from gdpr.api.requests import router as requests_router
from gdpr.api.retention import router as retention_router
from gdpr.api.subjects import router as subjects_router
from memory.api.files import router as files_router
from memory.api.jobs import router as jobs_router
from memory.api.journal import router as journal_router
from memory.api.portability import router as portability_router
from memory.api.provider import router as provider_router
from memory.api.quarantine import router as quarantine_router
from memory.api.records import router as records_router
from memory.api.settings import router as settings_router
from memory.api.tools import router as tools_router
from memory.api.turns import router as turns_router
from memory.api.workspace import router as workspace_router
from memory.rules import errors


def known_queries(run: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Refuse query parameters that an operation does not know."""
    operation = run.__self__  # type: ignore[attr-defined]
    known_names = {
        name
        for model in operation.models
        if model.__ninja_param_source__ == "query"
        for name in model.__ninja_flatten_map__
    }

    @wraps(run)
    def checked(request: HttpRequest, **kwargs: Any) -> HttpResponse:
        if "\x00" in request.path:
            # No id holds a NUL, and PostgreSQL cannot even be asked for one.
            return problem_details.response(errors.NotFound())
        if any("\x00" in text for texts in request.GET.lists() for text in texts[1]):
            detail = "The query holds a NUL character."
            return problem_details.response(errors.Invalid(detail, code="bad_text"))
        unknown = sorted(set(request.GET) - known_names)
        if unknown:
            faults = [
                {"field": name[:80], "code": "unknown", "message": "is not known here"}
                for name in unknown[:20]
            ]
            detail = "The query names a parameter that is not known here."
            code = "unknown_parameter"
            return problem_details.response(
                errors.Invalid(detail, code=code, errors=faults)
            )
        return run(request, **kwargs)

    return checked


class Api(NinjaAPI):
    """Ninja's API; its OpenAPI document lists the problems of every operation."""

    def get_openapi_schema(self, **kwargs: Any) -> OpenAPISchema:
        """Return the document with the problems each operation may answer with."""
        return problem_details.declare(super().get_openapi_schema(**kwargs))


api = Api(
    title="Crewship Memory",
    version=VERSION,
    description="What AI agents remember: journal, recall, and what keeps them honest.",
    auth=KeyOrSession(),
    parser=StrictParser(),
    throttle=[KeyThrottle(settings.RATE_LIMIT)],
    urls_namespace="api",
    docs_url="/docs",
)
problem_details.install(api)
api.add_decorator(known_queries, mode="view")
for prefix, router in (
    ("/journal", journal_router),
    ("/episodic", episodic_router),
    ("/episodic", context_router),
    ("/episodic", questions_router),
    ("/memory", files_router),
    ("/memory", health_router),
    ("/provider", provider_router),
    ("/quarantine", quarantine_router),
    ("/records", records_router),
    ("/memory", portability_router),
    ("/jobs", jobs_router),
    ("/gdpr/cases", cases_router),
    ("/gdpr", holds_router),
    ("/gdpr", requests_router),
    ("/gdpr", letters_router),
    ("/gdpr", retention_router),
    ("/gdpr", subjects_router),
    ("/gdpr", certificates_router),
    ("/gdpr", exports_router),
    ("/gdpr", recipients_router),
    ("/gdpr", export_words_router),
    ("/gdpr", reports_router),
    ("/admin", one_call_router),
    ("/tools", tools_router),
    ("/turns", turns_router),
    ("/workspace", settings_router),
    ("", proposal_router),
    ("", workspace_router),
):
    api.add_router(prefix, router)


def _in_one_shape(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Return 405 as problem+json when an address does not have the method."""

    @wraps(view)
    def shaped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        answer = view(request, *args, **kwargs)
        if answer.status_code != 405:
            return answer
        refusal = problem_details.response(problem_details.NoSuchMethod())
        refusal["Allow"] = answer["Allow"]
        return refusal

    return shaped


def open_to_programs(
    urls: tuple[list[URLResolver | URLPattern], str, str],
) -> tuple[list[URLResolver | URLPattern], str, str]:
    """Exempt the API's views from the login redirect: without a key they answer 401.

    The docs page and the OpenAPI document stay open: they hold no data.
    """
    for pattern in urls[0]:
        if isinstance(pattern, URLPattern):
            pattern.callback = _in_one_shape(pattern.callback)
            pattern.callback.login_required = False  # type: ignore[attr-defined]
    return urls

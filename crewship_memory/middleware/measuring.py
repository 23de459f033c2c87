"""How long each request takes, by the pattern of its route; its span of a trace."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from crewship_memory import client_address, log_redaction
from memory.measurements import recorded, tracing

METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
OTHER: Final = "other"
STATIC: Final = "static"


def route(request: HttpRequest) -> str:
    """Return the pattern that a request matched; no path gets into a figure."""
    if request.path.startswith(settings.STATIC_URL):
        return STATIC
    return log_redaction.route(request)


class MeasuringMiddleware:
    """Stands before whatever takes time, so that all of it is measured."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        start = perf_counter()
        method = request.method if request.method in METHODS else OTHER
        if tracing.is_on():
            response = self._traced(request, str(method))
        else:
            response = self.get_response(request)
        status = f"{response.status_code // 100}xx"
        recorded.REQUEST_SECONDS.labels(method, route(request), status).observe(
            perf_counter() - start
        )
        return response

    def _traced(self, request: HttpRequest, method: str) -> HttpResponse:
        # As with X-Forwarded-For: nobody else says which trace a request belongs to.
        is_proxied = client_address.origin(request).is_proxied
        parent = request.headers.get("traceparent", "") if is_proxied else ""
        with tracing.span(method, "server", parent=parent) as span:
            response = self.get_response(request)
            span.rename(f"{method} {route(request)}")
            span.set("http.request.method", method)
            span.set("http.route", route(request))
            span.set("http.response.status_code", response.status_code)
            if response.status_code >= 500:
                span.fail()
        return response

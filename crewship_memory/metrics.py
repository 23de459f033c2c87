"""Numbers for Prometheus."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse


def metrics(request: HttpRequest) -> HttpResponse:
    return HttpResponse("")

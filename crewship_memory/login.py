"""One-time login links."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse


def link(request: HttpRequest, name: str, token: str) -> HttpResponse:
    return HttpResponse("link")

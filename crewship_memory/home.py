"""The first page: what is true now."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse


def home(request: HttpRequest) -> HttpResponse:
    return HttpResponse("home")


def find(request: HttpRequest) -> HttpResponse:
    return HttpResponse("find")


def choose_workspace(request: HttpRequest) -> HttpResponse:
    return HttpResponse("choose")

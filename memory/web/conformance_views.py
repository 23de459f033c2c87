"""The conformance board: what each wire promises, and whether it holds here."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from memory.integrations import selftest_runs
from memory.rules import errors
from memory.web import pages
from memory.web.fragments import part


def _origin(request: HttpRequest) -> str:
    return f"{request.scheme}://{request.get_host()}"


@require_GET
def board(request: HttpRequest) -> HttpResponse:
    """Show every wire; while a run is going on its results come in by themselves."""
    found = selftest_runs.board(by=pages.actor(request))
    url = _origin(request)
    shown = [(line, line.wire.shown(url)) for line in found.lines]
    template = f"memory/conformance.html{part(request, 'results')}"
    return render(request, template, {"board": found, "lines": shown, "origin": url})


@require_POST
def run(request: HttpRequest) -> HttpResponse:
    """Try every promise now, for an operator; the worker does it."""
    try:
        done = selftest_runs.begin(by=pages.actor(request))
    except errors.Conflict as error:
        messages.info(request, error.detail)
        return redirect("conformance")
    if done.ended_at is None:
        messages.info(request, "The run has begun; results come in as they are made.")
    elif done.error:
        messages.error(request, f"The run ended: {done.error}")
    else:
        messages.success(request, f"All {done.counts['kept']} promises were kept")
    return redirect("conformance")

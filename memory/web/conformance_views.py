"""The conformance page: what each integration promises, and whether it holds."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from memory.integrations import selftest_runs
from memory.rules import errors
from memory.web import pages


@require_GET
def overview(request: HttpRequest) -> HttpResponse:
    """Show every integration; during a run the results refresh themselves."""
    overview = selftest_runs.overview(by=pages.actor(request))
    origin = f"{request.scheme}://{request.get_host()}"
    panels = [
        (row.integration, row.run, row.integration.snippets_for(origin))
        for row in overview.integrations
    ]
    template = f"memory/conformance.html{pages.target_fragment(request, 'results')}"
    context = {"overview": overview, "panels": panels, "origin": origin}
    return render(request, template, context)


@pages.action("conformance")
def run(request: HttpRequest) -> str | tuple[int, str]:
    """Request a run for an operator; the worker does it."""
    try:
        job_run = selftest_runs.begin(by=pages.actor(request))
    except errors.Conflict as error:
        return messages.INFO, error.detail
    if job_run.ended_at is None:
        return messages.INFO, "The run has begun; results come in as they are made."
    if job_run.error:
        return messages.ERROR, f"The run ended: {job_run.error}"
    return f"All {job_run.counts['kept']} promises were kept"

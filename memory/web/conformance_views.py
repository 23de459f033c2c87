"""The conformance page: what each integration promises, and whether it holds."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

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


@require_POST
def run(request: HttpRequest) -> HttpResponse:
    """Request a run for an operator and show how far it is; the worker does it."""
    try:
        job_run = selftest_runs.begin(by=pages.actor(request))
    except errors.Conflict as error:
        messages.info(request, error.detail)
        return redirect("conformance")
    return redirect("jobs:work", job_run.name, job_run.pk)

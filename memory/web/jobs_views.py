"""The views of the jobs pages: last runs, problems, and running a job now."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from memory.jobs import registry as jobs
from memory.jobs import status as job_status
from memory.rules import errors
from memory.web import pages


@require_GET
def job_list(request: HttpRequest) -> HttpResponse:
    """Show every job with its last run; the table refreshes itself."""
    overview = job_status.overview(pages.actor(request))
    template = f"memory/jobs.html{pages.target_fragment(request, 'jobs')}"
    return render(request, template, {"overview": overview})


@require_GET
def history(request: HttpRequest, name: str) -> HttpResponse:
    """Show the last runs of one job."""
    job, runs = job_status.history(pages.actor(request), name)
    return render(request, "memory/job.html", {"job": job, "runs": runs})


@pages.action("jobs:board")
def run(request: HttpRequest, name: str) -> str | tuple[int, str]:
    """Run a job now, for an operator."""
    actor = pages.actor(request)
    title = jobs.get(name).title
    try:
        report = job_status.run_view(actor, jobs.run_now(name, by=actor))
    except errors.Conflict as error:
        return messages.INFO, error.detail
    if report.is_open:
        return messages.INFO, f"{title} was given to the worker"
    if report.run.error:
        return messages.ERROR, f"{title}: {report.fault}"
    return f"{title} done: {report.summary or 'finished'}"

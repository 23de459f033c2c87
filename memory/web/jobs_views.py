"""The views of the jobs pages: last runs, problems, one run, and running a job now."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from django_htmx.middleware import HtmxDetails

from memory.jobs import queue_status, work
from memory.jobs import registry as jobs
from memory.jobs import status as job_status
from memory.rules import errors
from memory.web import pages


@require_GET
def job_list(request: HttpRequest) -> HttpResponse:
    """Show every job with its last run; the table refreshes itself."""
    actor = pages.actor(request)
    context: dict[str, Any] = {"overview": job_status.overview(actor)}
    fragment = pages.target_fragment(request, "jobs")
    if not fragment:
        context |= {"queues": queue_status.overview(actor)}
    return render(request, f"memory/jobs.html{fragment}", context)


@require_GET
def history(request: HttpRequest, name: str) -> HttpResponse:
    """Show the last runs of one job, and above them the one that is under way."""
    actor = pages.actor(request)
    job, runs = job_status.history(actor, name)
    live = runs[0] if runs and runs[0].is_open else None
    context = {
        "job": job,
        "runs": runs,
        "work": work.of_run(actor, live) if live else None,
    }
    return render(request, "memory/job.html", context)


@never_cache
@require_GET
def run_page(request: HttpRequest, name: str, run_id: int) -> HttpResponse:
    """Show one run; while it is under way its panel refreshes itself."""
    actor = pages.actor(request)
    item = work.of_id(actor, name, run_id)
    if pages.target_fragment(request, item.element_id):
        htmx: HtmxDetails = request.htmx  # type: ignore[attr-defined]
        own = htmx.current_url_abs_path == item.url
        return render(request, "_work.html", {"work": item, "own": own})
    context = {"work": item, "job": jobs.get(name), "own": True}
    return render(request, "memory/job_run.html", context)


@pages.action("jobs:board")
def run(request: HttpRequest, name: str) -> str | tuple[int, str]:
    """Run a job now, for an operator."""
    actor = pages.actor(request)
    title = gettext(jobs.get(name).title)
    try:
        report = job_status.run_view(actor, jobs.run_now(name, by=actor))
    except errors.Conflict as error:
        return messages.INFO, error.detail
    if report.is_open:
        text = gettext("{job} was given to the worker").format(job=title)
        return messages.INFO, text
    if report.run.error:
        return messages.ERROR, f"{title}: {report.fault}"
    return gettext("{job} done: {summary}").format(
        job=title, summary=report.summary or gettext("finished")
    )


@require_POST
def repeat(request: HttpRequest, name: str, run_id: int) -> HttpResponse:
    """Start a run that did not end well again, and show the new one."""
    try:
        run_id = work.repeat(pages.actor(request), name, run_id).pk
    except errors.Conflict as error:
        messages.info(request, error.detail)
    return redirect("jobs:work", name, run_id)

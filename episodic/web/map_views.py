"""The views of the page Map: the page, the data of its picture, computing it anew."""

from __future__ import annotations

import json

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_GET

from episodic.map import picture
from episodic.web import map_page
from memory.jobs import registry as jobs
from memory.jobs import status as job_status
from memory.models import RunState
from memory.rules import errors
from memory.web import pages

JOB = "map"


@never_cache
@require_GET
def page(request: HttpRequest) -> HttpResponse:
    """Show the map of memory and the list beside it."""
    context = {"page": map_page.build(pages.actor(request), request.GET)}
    region = pages.target_fragment(request, "map-side")
    template = f"episodic/map.html{region}"
    return render(request, template, context, status=context["page"].status)


@gzip_page
@never_cache
@require_GET
def points(request: HttpRequest) -> HttpResponse:
    """Return the points of the map, which the page draws."""
    drawing = picture.load(pages.actor(request))
    if drawing is None:
        raise errors.NotFound
    content = json.dumps(drawing.data(), separators=(",", ":"))
    return HttpResponse(content, content_type="application/json")


@pages.action("map:page", page_statuses=(409,))
def compute(request: HttpRequest) -> str | tuple[int, str]:
    """Compute the map now, for an operator."""
    actor = pages.actor(request)
    run = jobs.run_now(JOB, by=actor)
    if run.state == RunState.DONE:
        return gettext("The map was computed")
    if run.state in (RunState.WAITING, RunState.RUNNING):
        text = gettext("The map is being computed; load the page again to see it")
        return messages.INFO, text
    fault = job_status.run_view(actor, run).fault
    text = gettext("The map was not computed: {error}").format(error=fault)
    return messages.ERROR, text

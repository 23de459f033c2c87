"""The view of the recall explorer."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET
from django_htmx.http import push_url

from episodic.web import explorer
from episodic.web.recall_form import RecallForm
from memory.web import pages
from memory.web.fragments import target_fragment


@require_GET
def recall(request: HttpRequest) -> HttpResponse:
    """Show what an agent would recall; asking from here marks nothing."""
    actor = pages.actor(request)
    actor.require("recall.ask")
    region = target_fragment(request, "explorer")
    form = RecallForm(request.GET, by=actor)
    origin = f"{request.scheme}://{request.get_host()}"
    page = explorer.build(actor, form, origin)
    response = render(
        request, f"episodic/recall.html{region}", {"page": page}, status=page.status
    )
    if region:
        # A form sends its empty fields too; the address shows what is in force.
        query = form.address()
        push_url(response, f"{request.path}?{query}" if query else request.path)
    return response

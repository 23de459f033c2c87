"""The recall explorer and the index page: parse, call, render."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import push_url

from episodic import queries
from episodic.index import status as index_status
from episodic.index.sweep import Report
from episodic.web import explorer
from episodic.web.forms import RecallForm
from memory.web import pages
from memory.web.fragments import part


@require_GET
def recall(request: HttpRequest) -> HttpResponse:
    """Show what an agent would recall; asking from here marks nothing."""
    actor = pages.actor(request)
    form = RecallForm(request.GET, by=actor)
    origin = f"{request.scheme}://{request.get_host()}"
    page = explorer.build(actor, form, origin)
    region = part(request, "explorer")
    response = render(
        request, f"episodic/recall.html{region}", {"page": page}, status=page.status
    )
    if region:
        # A form sends its empty fields too; the address shows what is in force.
        query = form.address()
        push_url(response, f"{request.path}?{query}" if query else request.path)
    return response


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """Show how complete the index is, and what failed."""
    page = queries.index_page(pages.actor(request))
    return render(request, "episodic/index.html", {"page": page})


def _tell(request: HttpRequest, report: Report) -> None:
    """Say what an index run did."""
    if report.failed:
        why = f"{report.indexed} indexed, {report.failed} failed"
        messages.warning(request, f"{why}; the reason stands beside each entry")
    elif report.indexed:
        done = "1 entry" if report.indexed == 1 else f"{report.indexed:,} entries"
        messages.success(request, f"Indexed {done}")
    else:
        messages.info(request, "Nothing was indexed: nothing here waits for it")


@require_POST
def index_run(request: HttpRequest) -> HttpResponse:
    """Embed now what waits, for an operator."""
    actor = pages.actor(request)
    _tell(request, index_status.run(actor.workspace_id, by=actor))
    return redirect("episodic:index")


@require_POST
def index_entry(request: HttpRequest, entry_id: str) -> HttpResponse:
    """Embed one entry now, for an operator, and go back to it."""
    actor = pages.actor(request)
    _tell(request, index_status.run(actor.workspace_id, by=actor, entry_ids=[entry_id]))
    return redirect("memory:entry", entry_id)

"""Views of the index page and of embedding now."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from episodic.index import status as index_status
from episodic.index.sweep import Report
from episodic.web import index_page
from memory.web import pages


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """Show how complete the index is, and what failed."""
    page = index_page.build(pages.actor(request))
    return render(request, "episodic/index.html", {"page": page})


def _show_report(request: HttpRequest, report: Report) -> None:
    if report.failed:
        counts = f"{report.indexed} indexed, {report.failed} failed"
        messages.warning(request, f"{counts}; the reason is shown beside each entry")
    elif report.indexed:
        count = "1 entry" if report.indexed == 1 else f"{report.indexed:,} entries"
        messages.success(request, f"Indexed {count}")
    else:
        messages.info(request, "Nothing was indexed: no entry is waiting")


@require_POST
def index_run(request: HttpRequest) -> HttpResponse:
    """Embed now what waits, for an operator."""
    actor = pages.actor(request)
    _show_report(request, index_status.run(actor.workspace_id, by=actor))
    return redirect("episodic:index")


@require_POST
def index_entry(request: HttpRequest, entry_id: str) -> HttpResponse:
    """Embed one entry now, for an operator, and go back to it."""
    actor = pages.actor(request)
    _show_report(
        request, index_status.run(actor.workspace_id, by=actor, entry_ids=[entry_id])
    )
    return redirect("memory:entry", entry_id)

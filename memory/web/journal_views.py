"""The views of the journal's pages."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext, pgettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import push_url, trigger_client_event

from memory.journal import append as journal
from memory.journal import queries, timeline
from memory.journal import verify as journal_verify
from memory.journal.verify import Report
from memory.models import ArchivedEntry, JournalEntry
from memory.rules import errors
from memory.rules.entries import Priority
from memory.web import journal_page, pages
from memory.web.journal_forms import PriorityForm

TEMPLATE = "memory/journal.html"


def _page(
    request: HttpRequest,
    entry: JournalEntry | None = None,
    priority: PriorityForm | None = None,
    report: Report | None = None,
    archived: ArchivedEntry | None = None,
) -> HttpResponse:
    """Render the list, with one entry next to it or a report above it."""
    actor = pages.actor(request)
    page = journal_page.build(actor, request.GET, entry, priority)
    region = pages.target_fragment(request, "journal")
    context = {
        "page": page,
        "archived": archived,
        "report": report,
        "whole": request.GET.get("payload") == "all",
        "length": None if region else timeline.length(actor),
    }
    response = render(request, f"{TEMPLATE}{region}", context, status=page.status)
    if region and entry is None and archived is None:
        # A form sends its empty fields too; the address shows only the set filters.
        push_url(response, page.address)
    return response


@require_GET
def entries(request: HttpRequest) -> HttpResponse:
    """Show the journal, newest first."""
    return _page(request)


@require_GET
def entry(request: HttpRequest, entry_id: str) -> HttpResponse:
    """Show one entry, or what the archive keeps of it, next to the list."""
    actor = pages.actor(request)
    try:
        return _page(request, queries.entry(actor, entry_id))
    except errors.NotFound:
        return _page(request, archived=queries.archived_entry(actor, entry_id))


@require_POST
def priority(request: HttpRequest, entry_id: str) -> HttpResponse:
    """Set an entry's priority, for an operator."""
    actor = pages.actor(request)
    row = queries.entry(actor, entry_id)
    form = PriorityForm(request.POST)
    if not form.is_valid():
        return _page(request, row, form)
    fields = form.cleaned_data
    change = journal.prioritise(
        row, Priority(fields["priority"]), fields["reason"], by=actor
    )
    message = gettext("Priority set to {priority}, was {previous}").format(
        priority=pgettext("priority", change.priority),
        previous=pgettext("priority", change.previous),
    )
    if pages.target_fragment(request, "journal"):
        response = _page(request, row)
        return trigger_client_event(response, "toast", {"value": message})
    messages.success(request, message)
    query = request.GET.urlencode()
    return redirect(pages.address("memory:entry", row.id, query=query))


@require_http_methods(["GET", "POST"])
def verify(request: HttpRequest) -> HttpResponse:
    """Verify the whole chain and show the report; a GET redirects to the list."""
    if request.method == "GET":
        return redirect("memory:journal")
    actor = pages.actor(request)
    report = journal_verify.verify(actor.workspace_id, by=actor)
    if pages.target_fragment(request, "chain-report"):
        return render(request, f"{TEMPLATE}#report", {"report": report})
    return _page(request, report=report)

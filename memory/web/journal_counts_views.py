"""The views of what the journal's list adds up to."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_GET, require_POST

from memory.journal import calendar as journal_calendar
from memory.journal import export, timeline
from memory.rules import errors
from memory.web import calendar_page, journal_counts_page, pages
from memory.web.journal_forms import JournalForm

BAD_FILTER = gettext_noop("A filter is invalid.")


@require_GET
def counts(request: HttpRequest) -> HttpResponse:
    """Show the entries of the list over time and by column; the list loads it."""
    page = journal_counts_page.build(pages.actor(request), request.GET)
    region = pages.fragment(request, "counts")
    template = f"memory/journal_counts.html{region}"
    return render(request, template, {"page": page}, status=page.status)


@require_GET
def calendar(request: HttpRequest) -> HttpResponse:
    """Show the entries of an agent, or of a crew's agents, by day."""
    actor = pages.actor(request)
    agent_id, crew_id = (request.GET.get(name) for name in ("agent_id", "crew_id"))
    if bool(agent_id) == bool(crew_id):
        raise errors.Invalid(
            gettext("Name an agent_id or a crew_id."), code="bad_filter"
        )
    if agent_id:
        rows = journal_calendar.of_agent(actor, agent_id)
    else:
        rows = journal_calendar.of_crew(actor, str(crew_id))
    region = pages.fragment(request, "calendar")
    context = {"page": calendar_page.build(rows)}
    return render(request, f"memory/calendar.html{region}", context)


@require_POST
def export_entries(request: HttpRequest) -> StreamingHttpResponse:
    """Download the entries of the list, whole, in the format that was posted."""
    actor = pages.actor(request)
    filters = JournalForm(request.GET, by=actor).journal_filter()
    if filters is None:
        raise errors.Invalid(gettext(BAD_FILTER), code="bad_filter")
    content = export.export(actor, filters, str(request.POST.get("format") or ""))
    response = StreamingHttpResponse(content.lines, content_type=content.content_type)
    file_name = f"journal.{content.format}"
    response["Content-Disposition"] = f'attachment; filename="{file_name}"'
    response["Cache-Control"] = "no-store"
    return response


@require_GET
def arrived(request: HttpRequest) -> HttpResponse:
    """Say how many entries of the list arrived since it was read; 204 for none."""
    actor = pages.actor(request)
    form = JournalForm(request.GET, by=actor)
    filters, after = form.journal_filter(), pages.number(request.GET.get("after", ""))
    if filters is None or after is None:
        raise errors.Invalid(gettext(BAD_FILTER), code="bad_filter")
    tally = timeline.arrived(actor, filters, after)
    if not tally.number:
        return HttpResponse(status=204)
    address = pages.address("memory:journal", query=form.query)
    context = {"tally": tally, "address": address}
    return render(request, "memory/_arrived.html", context)

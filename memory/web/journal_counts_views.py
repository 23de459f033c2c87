"""The views of what the journal's list adds up to."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from memory.web import journal_counts_page, pages


@require_GET
def counts(request: HttpRequest) -> HttpResponse:
    """Show the entries of the list over time and by column; the list loads it."""
    page = journal_counts_page.build(pages.actor(request), request.GET)
    region = pages.fragment(request, "counts")
    template = f"memory/journal_counts.html{region}"
    return render(request, template, {"page": page}, status=page.status)

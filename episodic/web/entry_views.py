"""The part of an entry's page that explains its importance and its relations."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from episodic.recall import importance_detail
from episodic.web import neighbour_graph
from memory.web import pages


@require_GET
def weight(request: HttpRequest, entry_id: str) -> HttpResponse:
    """Show the part alone to htmx, else a page of its own."""
    detail = importance_detail.of(pages.actor(request), entry_id)
    neighbours = neighbour_graph.layout(detail.edges)
    height = neighbour_graph.height(len(neighbours))
    is_part = pages.fragment(request, "weight") != ""
    context = {
        "weight": detail,
        "neighbours": neighbours,
        "height": height,
        "middle": height // 2,
    }
    name = "_importance.html" if is_part else "entry.html"
    return render(request, f"episodic/{name}", context)

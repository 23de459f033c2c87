"""The views of the recall explorer, and of what explains one entry's importance."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET
from django_htmx.http import push_url

from episodic.recall import importance_detail
from episodic.web import explorer, neighbour_graph
from episodic.web.recall_form import RecallForm
from memory.accounts import sessions
from memory.web import pages


@require_GET
def recall(request: HttpRequest) -> HttpResponse:
    """Show what an agent would recall; asking from here marks nothing."""
    actor = pages.actor(request)
    actor.require("recall.ask")
    previous_agent = str(request.session.get(sessions.AGENT, ""))
    form = RecallForm(request.GET, by=actor, previous_agent=previous_agent)
    origin = f"{request.scheme}://{request.get_host()}"
    page = explorer.build(actor, form, origin)
    if page.explored and form.agent and form.agent.id != previous_agent:
        sessions.note(request.session, sessions.AGENT, form.agent.id)
    region = pages.target_fragment(request, "explorer")
    response = render(
        request, f"episodic/recall.html{region}", {"page": page}, status=page.status
    )
    if region:
        # A form sends its empty fields too; the address shows what is in force.
        push_url(response, pages.address("episodic:recall", query=form.address()))
    return response


@require_GET
def entry_weight(request: HttpRequest, entry_id: str) -> HttpResponse:
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

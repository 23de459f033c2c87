"""The views of the recall explorer, and of what explains one entry's importance."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET
from django_htmx.http import push_url

from episodic import scopes
from episodic.recall import life, neighbours
from episodic.web import explorer, life_line, neighbour_graph
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
    """Show the part with one step to htmx, else a page of its own with two."""
    actor = pages.actor(request)
    entry_life = life.of(actor, entry_id)
    is_part = pages.fragment(request, "weight") != ""
    reach = scopes.reach(None, None, None, by=actor)
    graph = neighbours.graph(entry_life.entry, reach, steps=1 if is_part else 2)
    context = {
        "life": entry_life,
        "line": life_line.draw(entry_life),
        "weight": entry_life.weight,
        "drawing": neighbour_graph.draw(graph),
        "whole": not is_part,
    }
    name = "_entry_life.html" if is_part else "entry.html"
    return render(request, f"episodic/{name}", context)

"""The views of the recall explorer, and of what explains one entry's importance."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import push_url

from episodic import scopes
from episodic.recall import life, neighbours
from episodic.recall import what_if as recall_what_if
from episodic.web import explorer, life_line, neighbour_graph, what_if_panel
from episodic.web.recall_form import RecallForm
from memory.accounts import sessions
from memory.rules import errors
from memory.rules.entries import Priority
from memory.web import pages


@require_GET
def recall(request: HttpRequest) -> HttpResponse:
    """Show what an agent would recall; asking from here marks nothing."""
    actor = pages.actor(request)
    actor.require("recall.ask")
    previous_agent = str(request.session.get(sessions.AGENT, ""))
    form = RecallForm(request.GET, by=actor, previous_agent=previous_agent)
    origin = f"{request.scheme}://{request.get_host()}"
    expectation = request.session.get(sessions.EXPECTED)
    page = explorer.build(actor, form, origin, expectation)
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


@require_POST
def what_if(request: HttpRequest) -> HttpResponse:
    """Set the priority of an entry as the page shows it, then show what came of it."""
    actor = pages.actor(request)
    actor.require("journal.prioritise")
    form = RecallForm(request.POST, by=actor)
    question = form.request()
    if question is None or not form.cleaned_data["if_priority"]:
        text = gettext("The question is invalid; nothing was changed.")
        messages.error(request, text)
        return redirect(pages.address("episodic:recall", query=form.address()))
    priority = Priority(form.cleaned_data["if_priority"])
    entry_id = form.cleaned_data["if_entry_id"]
    reason = request.POST.get("reason", "")
    try:
        case = recall_what_if.apply(question, entry_id, priority, reason, by=actor)
    except (errors.Invalid, errors.Conflict) as error:
        messages.error(request, error.detail)
    else:
        expectation = what_if_panel.expectation(form, case)
        sessions.note(request.session, sessions.EXPECTED, expectation)
        text = gettext("Priority set to {priority}").format(priority=priority.value)
        messages.success(request, text)
    address = pages.address("episodic:recall", query=form.address())
    return redirect(f"{address}#h-what-if")


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

"""The views of the list of agents, and of an agent's and a crew's page.

A form posts to its page or to a URL below it and redirects on success. A faulty one
comes back with its input.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from episodic.agents import facts as agent_facts
from episodic.agents import overview, profile
from episodic.agents.overview import AgentFilter
from episodic.web.agent_forms import AgentListForm
from memory import workspace_tree
from memory.accounts import api_keys, saved_views, workspaces
from memory.models import Agent, Crew, ViewPage
from memory.rules import errors
from memory.rules.permissions import Actor, AgentRole
from memory.web import pages
from memory.web import workspace_forms as forms
from memory.web.filter_forms import set_filters


# ── The list ─────────────────────────────────────────────────────────────────
def _agents_page(
    request: HttpRequest, actor: Actor, status: int = 200, **extra_context: Any
) -> HttpResponse:
    crews = workspace_tree.crews(actor)
    form = AgentListForm(request.GET, crews=crews)
    rows = agent_facts.facts_of(actor)
    context = {
        "form": form,
        "listing": overview.listing(actor, form.agent_filter(), rows),
        "crews": overview.crew_lines(crews, rows),
        "saved": saved_views.saved(actor, ViewPage.AGENTS),
        "query": set_filters(request.GET),
        "crew_form": forms.CrewForm(auto_id="crew_%s"),
        "agent_form": forms.AgentForm(auto_id="agent_%s", crews=crews),
        **extra_context,
    }
    part = pages.fragment(request, "body")
    status = 422 if form.errors else status
    return render(request, f"workspace/agents.html{part}", context, status=status)


@require_http_methods(pages.METHODS)
def agents(request: HttpRequest) -> HttpResponse:
    """Show the agents, those that stand out first; a POST adds one."""
    actor = pages.actor(request)
    actor.require("agents.read")
    if request.method != "POST":
        return _agents_page(request, actor)
    actor.require("agents.manage")
    crews = workspace_tree.crews(actor)
    form = forms.AgentForm(request.POST, auto_id="agent_%s", crews=crews)

    def add(fields: dict[str, Any]) -> Agent:
        agent, is_new = workspaces.ensure_agent(
            fields["slug"],
            workspace_tree.crew(actor, fields["crew"]),
            by=actor,
            role=AgentRole(fields["role"]),
            walk_depth=fields["walk_depth"],
        )
        if not is_new:
            detail = gettext("{crew} has an agent of this name.")
            raise errors.Conflict(detail.format(crew=agent.crew.slug))
        return agent

    agent, status = pages.submit(form, add, faulty="slug")
    if agent is None:
        return _agents_page(request, actor, status, agent_form=form)
    text = gettext("{agent} joined {crew}").format(
        agent=agent.slug, crew=agent.crew.slug
    )
    messages.success(request, text)
    return redirect("workspace:agent", agent.id)


@require_http_methods(pages.METHODS)
def add_crew(request: HttpRequest) -> HttpResponse:
    """Add a crew; a GET redirects to the list."""
    actor = pages.actor(request)
    if request.method != "POST":
        return redirect("workspace:agents")
    actor.require("agents.manage")
    form = forms.CrewForm(request.POST, auto_id="crew_%s")

    def add(fields: dict[str, Any]) -> Crew:
        crew, is_new = workspaces.ensure_crew(
            fields["slug"], by=actor, name=fields["name"]
        )
        if not is_new:
            raise errors.Conflict(gettext("There is a crew of this name."))
        return crew

    crew, status = pages.submit(form, add, faulty="slug")
    if crew is None:
        return _agents_page(request, actor, status, crew_form=form)
    text = gettext("Crew {crew} created").format(crew=crew.slug)
    messages.success(request, text)
    return redirect("workspace:agents")


# ── One agent, one crew ──────────────────────────────────────────────────────
def _page_of_agent(agent_id: str, **_: str) -> str:
    return reverse("workspace:agent", args=[agent_id])


@never_cache
@require_http_methods(pages.METHODS)
def agent(request: HttpRequest, agent_id: str) -> HttpResponse:
    """Show an agent; a POST changes its role and whether recall adds neighbours."""
    if request.method == "POST":
        return _change(request, agent_id=agent_id)
    page = profile.agent_page(pages.actor(request), agent_id)
    context = {
        "page": page,
        "agent_roles": forms.AGENT_ROLES,
        "neighbour_choices": forms.NEIGHBOUR_CHOICES,
    }
    return render(request, "workspace/agent.html", context)


@pages.action(_page_of_agent)
def _change(request: HttpRequest, agent_id: str) -> str:
    actor = pages.actor(request)
    row = workspace_tree.agent(actor, agent_id)
    form = forms.AgentChange(request.POST)
    if not form.is_valid():
        detail = gettext("Choose a role and the neighbours from the lists.")
        raise errors.Invalid(detail)
    fields = form.cleaned_data
    workspaces.change_agent(
        row, by=actor, role=AgentRole(fields["role"]), walk_depth=fields["walk_depth"]
    )
    return gettext("{agent} changed").format(agent=row.slug)


@pages.action(_page_of_agent)
def revoke_key(request: HttpRequest, agent_id: str, key_id: str) -> str:
    """Revoke a key of an agent, and return to the agent's page."""
    actor = pages.actor(request)
    key = workspace_tree.key(actor, key_id)
    if getattr(key, "agent_id", None) != agent_id:
        raise errors.NotFound
    api_keys.revoke(key, by=actor)
    return gettext("Key {key}… revoked").format(key=key.prefix)


@require_GET
def crew(request: HttpRequest, crew_id: str) -> HttpResponse:
    """Show a crew with its agents, those that stand out first."""
    actor = pages.actor(request)
    page = profile.crew_page(actor, crew_id)
    number = pages.number(request.GET.get("page", "")) or 1
    filters = AgentFilter(show=request.GET.get("show", ""), page=number)
    listing = overview.listing(actor, filters, page.rows)
    links = [(_page_of_agent(lead.id), lead.slug) for lead in page.leads]
    context = {
        "page": page,
        "listing": listing,
        "lead_links": format_html_join(", ", '<a href="{}">{}</a>', links),
    }
    return render(request, "workspace/crew.html", context)

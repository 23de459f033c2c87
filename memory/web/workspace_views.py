"""Agents and keys, as pages. Each page answers its own forms; refusals keep the input.

A form posts to its page or to an address below it. After success the browser is sent
back to the page; only a fresh key is shown at once, because nobody can show it later.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from memory import overview
from memory.accounts import api_keys, workspaces
from memory.integrations import registry as integrations
from memory.journal import queries
from memory.models import AgentKey
from memory.rules import errors
from memory.rules.permissions import Actor, AgentRole, Role
from memory.web import forms, pages

PAGE_METHODS = ["GET", "HEAD", "POST"]


def fault(form: Form, error: errors.HouseError) -> int:
    """Put a refusal into the form it belongs to and return its status.

    A role that is too small, and rows that are not theirs, are refused as a page.
    """
    if not isinstance(error, (errors.Invalid, errors.Conflict)):
        raise error
    form.add_error(None, error.detail)
    return error.status


# ── Agents ───────────────────────────────────────────────────────────────────
def _agents_context(actor: Actor) -> dict[str, Any]:
    return {
        "crews": overview.crews(actor),
        "crew_form": forms.CrewForm(auto_id="crew_%s"),
        "agent_form": forms.AgentForm(auto_id="agent_%s", crews=queries.crews(actor)),
        "agent_roles": forms.AGENT_ROLES,
        "walks": forms.WALKS,
    }


def _agents_page(
    request: HttpRequest, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    part = pages.part(request, "body")
    return render(request, f"workspace/agents.html{part}", context, status=status)


@require_http_methods(PAGE_METHODS)
def agents(request: HttpRequest) -> HttpResponse:
    """Show the agents by crew; a post adds one."""
    actor = pages.actor(request)
    actor.require("agents.read")
    if request.method != "POST":
        return _agents_page(request, _agents_context(actor))
    actor.require("agents.manage")
    crews = queries.crews(actor)
    form = forms.AgentForm(request.POST, auto_id="agent_%s", crews=crews)
    status = 422
    if form.is_valid():
        told = form.cleaned_data
        agent, made = workspaces.ensure_agent(
            told["slug"],
            queries.crew(actor, told["crew"]),
            by=actor,
            role=AgentRole(told["role"]),
            walk_depth=told["walk_depth"],
        )
        if made:
            messages.success(request, f"{agent.slug} joined {agent.crew.slug}")
            return redirect("workspace:agents")
        form.add_error("slug", f"{agent.crew.slug} has an agent of this name.")
        status = 409
    context = _agents_context(actor) | {"agent_form": form}
    return _agents_page(request, context, status)


@require_http_methods(PAGE_METHODS)
def crew(request: HttpRequest) -> HttpResponse:
    """Add a crew; a reload of the address leads back to the list."""
    actor = pages.actor(request)
    if request.method != "POST":
        return redirect("workspace:agents")
    actor.require("agents.manage")
    form = forms.CrewForm(request.POST, auto_id="crew_%s")
    status = 422
    if form.is_valid():
        told = form.cleaned_data
        found, made = workspaces.ensure_crew(told["slug"], by=actor, name=told["name"])
        if made:
            messages.success(request, f"Crew {found.slug} made")
            return redirect("workspace:agents")
        form.add_error("slug", "There is a crew of this name.")
        status = 409
    return _agents_page(request, _agents_context(actor) | {"crew_form": form}, status)


@require_POST
def agent(request: HttpRequest, agent_id: str) -> HttpResponse:
    """Change an agent's role and how far its recall walks."""
    actor = pages.actor(request)
    found = queries.agent(actor, agent_id)
    form = forms.AgentChange(request.POST)
    if not form.is_valid():
        raise errors.Invalid("Choose a role and a walk from the lists.")
    told = form.cleaned_data
    workspaces.change_agent(
        found, by=actor, role=AgentRole(told["role"]), walk_depth=told["walk_depth"]
    )
    messages.success(request, f"{found.slug} changed")
    return redirect("workspace:agents")


# ── Keys ─────────────────────────────────────────────────────────────────────
def _keys_context(actor: Actor) -> dict[str, Any]:
    found = sorted(queries.keys(actor), key=lambda key: key.state != "active")
    return {
        "keys": found,
        "active": sum(key.state == "active" for key in found),
        "agent_form": _agent_key_form(actor),
        "member_form": _operator_key_form(actor),
    }


def _agent_key_form(actor: Actor, data: Any = None) -> forms.AgentKeyForm:
    agents = queries.agents(actor)
    return forms.AgentKeyForm(data, auto_id="agent_%s", agents=agents)


def _operator_key_form(actor: Actor, data: Any = None) -> forms.OperatorKeyForm:
    members = queries.members(actor)
    return forms.OperatorKeyForm(data, auto_id="member_%s", members=members)


def _keys_page(
    request: HttpRequest, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    part = pages.part(request, "body")
    return render(request, f"workspace/keys.html{part}", context, status=status)


def _shown_once(
    request: HttpRequest, actor: Actor, issued: api_keys.Issued
) -> HttpResponse:
    """Show a fresh key: rendered, never redirected to, because it is kept nowhere."""
    context = _keys_context(actor) | {
        "issued": issued,
        "connect": _connect(request, issued),
    }
    return _keys_page(request, context, status=201)


def _connect(request: HttpRequest, issued: api_keys.Issued) -> str:
    """Return what an agent's host takes to connect, with the fresh key in its place.

    Nothing for a key that acts as a person: the tools want an agent.
    """
    if not isinstance(issued.key, AgentKey):
        return ""
    origin = f"{request.scheme}://{request.get_host()}"
    snippets = dict(integrations.by_name("mcp").snippets_for(origin))
    return snippets["MCP config"].replace("${CREWSHIP_KEY}", issued.token)


@never_cache
@require_http_methods(PAGE_METHODS)
def key_list(request: HttpRequest) -> HttpResponse:
    """Show the keys of both kinds; a post issues one for an agent."""
    actor = pages.actor(request)
    actor.require("keys.read")
    if request.method != "POST":
        return _keys_page(request, _keys_context(actor))
    actor.require("keys.manage")
    form = _agent_key_form(actor, request.POST)
    status = 422
    if form.is_valid():
        told = form.cleaned_data
        try:
            issued = api_keys.issue_agent_key(
                queries.agent(actor, told["agent"]),
                by=actor,
                name=told["name"],
                scopes=form.chosen_scopes,
                expires_at=told["expires_on"],
                end_user=told["end_user"],
            )
            return _shown_once(request, actor, issued)
        except errors.HouseError as error:
            status = fault(form, error)
    return _keys_page(request, _keys_context(actor) | {"agent_form": form}, status)


@never_cache
@require_http_methods(PAGE_METHODS)
def operator_key(request: HttpRequest) -> HttpResponse:
    """Issue a key for a program that acts as a person; a reload leads to the list."""
    actor = pages.actor(request)
    if request.method != "POST":
        return redirect("workspace:keys")
    actor.require("keys.manage")
    form = _operator_key_form(actor, request.POST)
    status = 422
    if form.is_valid():
        told = form.cleaned_data
        try:
            issued = api_keys.issue_operator_key(
                queries.member(actor, told["member"]).user,
                Role(told["role"]),
                by=actor,
                name=told["name"],
                scopes=form.chosen_scopes,
                expires_at=told["expires_on"],
            )
            return _shown_once(request, actor, issued)
        except errors.HouseError as error:
            status = fault(form, error)
    return _keys_page(request, _keys_context(actor) | {"member_form": form}, status)


@require_POST
def revoke(request: HttpRequest, key_id: str) -> HttpResponse:
    """Make a key useless at once."""
    actor = pages.actor(request)
    found = queries.key(actor, key_id)
    api_keys.revoke(found, by=actor)
    messages.success(request, f"Key {found.prefix}… of {found.holder} revoked")
    return redirect("workspace:keys")

"""The views of the keys page. Errors keep the input.

A form posts to its page or to a URL below it and redirects to the page on success. Only
a new key is rendered at once, because it cannot be shown later.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from memory import workspace_tree
from memory.accounts import api_keys
from memory.integrations import registry as integrations
from memory.models import AgentKey
from memory.rules.permissions import Actor, Role
from memory.web import pages
from memory.web import workspace_forms as forms


def _agent_key_form(actor: Actor, data: Any = None) -> forms.AgentKeyForm:
    agents = workspace_tree.agents(actor)
    return forms.AgentKeyForm(data, auto_id="agent_%s", agents=agents)


def _operator_key_form(actor: Actor, data: Any = None) -> forms.OperatorKeyForm:
    members = workspace_tree.members(actor)
    return forms.OperatorKeyForm(data, auto_id="member_%s", members=members)


def _keys_page(
    request: HttpRequest, actor: Actor, status: int = 200, **extra_context: Any
) -> HttpResponse:
    keys = sorted(workspace_tree.keys(actor), key=lambda key: key.state != "active")
    context = {
        "keys": keys,
        "active": sum(key.state == "active" for key in keys),
        "agent_form": _agent_key_form(actor),
        "member_form": _operator_key_form(actor),
        **extra_context,
    }
    part = pages.fragment(request, "body")
    return render(request, f"workspace/keys.html{part}", context, status=status)


def _show_key_once(
    request: HttpRequest, actor: Actor, issued: api_keys.Issued
) -> HttpResponse:
    """Render a new key; no redirect, because the token is not stored.

    A key of an agent comes with the MCP configuration of its host; the tools need an
    agent, so one that acts as a person has none.
    """
    connect = ""
    if isinstance(issued.key, AgentKey):
        origin = f"{request.scheme}://{request.get_host()}"
        mcp = integrations.by_name("mcp")
        connect = dict(mcp.snippets_for(origin, issued.token))["MCP config"]
    return _keys_page(request, actor, 201, issued=issued, connect=connect)


@never_cache
@require_http_methods(pages.METHODS)
def key_list(request: HttpRequest) -> HttpResponse:
    """Show the keys of both kinds; a POST issues one for an agent."""
    actor = pages.actor(request)
    actor.require("keys.read")
    if request.method != "POST":
        return _keys_page(request, actor)
    actor.require("keys.manage")
    form = _agent_key_form(actor, request.POST)

    def issue(fields: dict[str, Any]) -> api_keys.Issued:
        return api_keys.issue_agent_key(
            workspace_tree.agent(actor, fields["agent"]),
            by=actor,
            name=fields["name"],
            scopes=form.chosen_scopes,
            expires_at=fields["expires_on"],
            end_user=fields["end_user"],
        )

    issued, status = pages.submit(form, issue)
    if issued:
        return _show_key_once(request, actor, issued)
    return _keys_page(request, actor, status, agent_form=form)


@never_cache
@require_http_methods(pages.METHODS)
def operator_key(request: HttpRequest) -> HttpResponse:
    """Issue a key for a program that acts as a person; a GET redirects to the list."""
    actor = pages.actor(request)
    if request.method != "POST":
        return redirect("workspace:keys")
    actor.require("keys.manage")
    form = _operator_key_form(actor, request.POST)

    def issue(fields: dict[str, Any]) -> api_keys.Issued:
        return api_keys.issue_operator_key(
            workspace_tree.member(actor, fields["member"]).user,
            Role(fields["role"]),
            by=actor,
            name=fields["name"],
            scopes=form.chosen_scopes,
            expires_at=fields["expires_on"],
        )

    issued, status = pages.submit(form, issue)
    if issued:
        return _show_key_once(request, actor, issued)
    return _keys_page(request, actor, status, member_form=form)


@pages.action("workspace:keys")
def revoke(request: HttpRequest, key_id: str) -> str:
    actor = pages.actor(request)
    key = workspace_tree.key(actor, key_id)
    api_keys.revoke(key, by=actor)
    return gettext("Key {key}… of {holder} revoked").format(
        key=key.prefix, holder=key.holder
    )

"""The memory gateway's page, for admins: keys of users, and the set-ups of turns.

A new user key is shown once; the key that turns use for another gateway never is.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from memory import workspace_tree
from memory.integrations.gateway import settings as gateway_settings
from memory.integrations.gateway import users
from memory.integrations.gateway.config import ConfigError
from memory.models import GatewaySetup
from memory.rules.permissions import Actor
from memory.web import pages
from memory.web.gateway_forms import SetupForm, UserKeyForm, initial_of


def _key_form(actor: Actor, data: Any = None) -> UserKeyForm:
    return UserKeyForm(data, auto_id="user_%s", agents=workspace_tree.agents(actor))


def _setup_form(actor: Actor, data: Any = None, initial: Any = None) -> SetupForm:
    agents = workspace_tree.agents(actor)
    return SetupForm(data, auto_id="turns_%s", agents=agents, initial=initial)


def _page(
    request: HttpRequest, actor: Actor, status: int = 200, **extra_context: Any
) -> HttpResponse:
    keys, setups = users.list_keys(actor), gateway_settings.list_setups(actor)
    first = next((row for row in setups if row.agent_id is None), None)
    context = {
        "keys": keys,
        "active": sum(key.state == "active" for key in keys),
        "setups": setups,
        "key_form": _key_form(actor),
        "setup_form": _setup_form(actor, initial=initial_of(first) if first else None),
        "address": request.build_absolute_uri("/gateway"),
        **extra_context,
    }
    part = pages.fragment(request, "body")
    return render(request, f"workspace/gateway.html{part}", context, status=status)


@never_cache
@require_http_methods(pages.METHODS)
def gateway(request: HttpRequest) -> HttpResponse:
    """Show keys and set-ups; a POST issues a key for a user."""
    actor = pages.actor(request)
    actor.require("keys.manage")
    if request.method != "POST":
        return _page(request, actor)
    form = _key_form(actor, request.POST)

    def issue(fields: dict[str, Any]) -> users.IssuedUser:
        limits = users.Limits(
            app_id=fields["app_id"],
            project_id=fields["project_id"],
            scopes=form.chosen_scopes,
            expires_at=fields["expires_on"],
        )
        agent = workspace_tree.agent(actor, fields["agent"])
        return users.issue(
            agent, fields["user_id"], limits, by=actor, name=fields["name"]
        )

    issued, status = pages.submit(form, issue)
    if issued:
        return _page(request, actor, 201, issued=issued)
    return _page(request, actor, status, key_form=form)


@pages.action("workspace:gateway")
def revoke(request: HttpRequest, key_id: str) -> str:
    """Revoke a user's key."""
    actor = pages.actor(request)
    key = users.get(actor, key_id)
    users.revoke(key, by=actor)
    return gettext("Key {key}… of {holder} revoked").format(
        key=key.prefix, holder=key.holder
    )


@never_cache
@require_http_methods(pages.METHODS)
def setup(request: HttpRequest) -> HttpResponse:
    """Choose the source of memory for turns; a GET redirects to the page."""
    actor = pages.actor(request)
    if request.method != "POST":
        return redirect("workspace:gateway")
    actor.require(gateway_settings.PERMISSION)
    form = _setup_form(actor, request.POST)

    def save(fields: dict[str, Any]) -> GatewaySetup | None:
        try:
            return gateway_settings.save(
                form.section, agent_id=fields["agent"] or None, by=actor
            )
        except ConfigError as error:
            form.show_error(error)
            return None

    row, status = pages.submit(form, save)
    if row is None:
        return _page(request, actor, status, setup_form=form)
    text = gettext("Turns of every agent use {mode} memory").format(mode=row.mode)
    if row.agent:
        text = gettext("Turns of {agent} use {mode} memory").format(
            agent=row.agent.slug, mode=row.mode
        )
    messages.success(request, text)
    return redirect("workspace:gateway")


@pages.action("workspace:gateway")
def remove(request: HttpRequest, setup_id: str) -> str:
    """Delete a set-up with its key."""
    gateway_settings.remove(setup_id, by=pages.actor(request))
    return gettext("The set-up is removed")

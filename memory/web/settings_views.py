"""The settings page: each setting with value, default and last change."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from memory import workspace_settings
from memory.providers import connection
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.web import pages, workspace_views
from memory.web.settings_forms import SettingForm, display_value
from memory.workspace_settings import Kind, Page, State, installation


@dataclass(frozen=True, slots=True)
class Line:
    """One setting on the page; without a form, another page edits it."""

    state: State
    value: str
    default: str
    form: SettingForm | None


def _line(state: State, page: Page, forms: dict[str, SettingForm]) -> Line:
    setting = state.setting
    if setting.is_secret:
        value, default = "set" if state.is_set else "none", "none"
    else:
        value, default = (
            display_value(setting, setting_value)
            for setting_value in (state.value, setting.default)
        )
    if setting.kind is Kind.TABLE:
        return Line(state, value, default, None)
    form = forms.get(setting.name) or SettingForm(state, page.version)
    return Line(state, value, default, form)


def _page(
    request: HttpRequest,
    actor: Actor,
    status: int = 200,
    forms: dict[str, SettingForm] | None = None,
) -> HttpResponse:
    page = workspace_settings.settings_page(actor)
    lines = [_line(state, page, forms or {}) for state in page.states]
    groups = groupby(lines, key=lambda line: line.state.setting.group)
    context = {
        "groups": [(name, list(part)) for name, part in groups],
        "changed": sum(line.state.is_set for line in lines),
        "total": len(lines),
        "version": page.version,
        "variables": installation.variables(),
    }
    return render(request, "workspace/settings.html", context, status=status)


@never_cache
@require_http_methods(workspace_views.PAGE_METHODS)
def settings_page(request: HttpRequest) -> HttpResponse:
    """Show every setting of the workspace, for an admin."""
    actor = pages.actor(request)
    actor.require("settings.read")
    if request.method == "POST":
        return redirect("workspace:settings")
    return _page(request, actor)


def _version(request: HttpRequest) -> int | None:
    text = request.POST.get("version", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _save(
    request: HttpRequest, actor: Actor, form: SettingForm, state: State
) -> HttpResponse:
    name, status = state.setting.name, 422
    if form.is_valid():
        changes: dict[str, Any] = {name: form.cleaned_data["value"]}
        try:
            workspace_settings.change(changes, by=actor, version=_version(request))
        except errors.AppError as error:
            status = workspace_views.fault(form, error)
        else:
            messages.success(request, f"Saved: {state.setting.label}")
            return redirect("workspace:settings")
    return _page(request, actor, status, {name: form})


@never_cache
@require_http_methods(workspace_views.PAGE_METHODS)
def change(request: HttpRequest, name: str) -> HttpResponse:
    """Set one setting; a GET redirects to the page."""
    actor = pages.actor(request)
    if request.method != "POST":
        return redirect("workspace:settings")
    actor.require("settings.manage")
    setting = workspace_settings.by_name(name)
    if setting.kind is Kind.TABLE:
        raise errors.NotFound
    page = workspace_settings.settings_page(actor)
    form = SettingForm(page[name], page.version, request.POST)
    return _save(request, actor, form, page[name])


@require_POST
def reset(request: HttpRequest, name: str) -> HttpResponse:
    actor = pages.actor(request)
    actor.require("settings.manage")
    setting = workspace_settings.by_name(name)
    try:
        workspace_settings.change({name: None}, by=actor, version=_version(request))
    except errors.Conflict as error:
        messages.error(request, error.detail)
    else:
        messages.success(request, f"{setting.label}: reset to the default")
    return redirect("workspace:settings")


@require_POST
def test_connection(request: HttpRequest) -> HttpResponse:
    """Test the connection to the remote provider."""
    outcome = connection.test(by=pages.actor(request))
    add_message = messages.success if outcome.ok else messages.error
    add_message(request, f"{outcome.message} ({outcome.milliseconds:.0f} ms)")
    return redirect("workspace:settings")

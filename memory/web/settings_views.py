"""The settings page: each setting with value, default and last change."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from memory import figures, workspace_settings
from memory.providers import connection, words
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.web import pages
from memory.web.settings_forms import SettingForm, display_value
from memory.workspace_settings import Change, Kind, Page, State, installation


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
        value = gettext("set") if state.is_set else gettext("none")
        default = gettext("none")
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
@require_http_methods(pages.METHODS)
def settings_page(request: HttpRequest) -> HttpResponse:
    """Show every setting of the workspace, for an admin."""
    actor = pages.actor(request)
    actor.require("settings.read")
    if request.method == "POST":
        return redirect("workspace:settings")
    return _page(request, actor)


def _change(request: HttpRequest, name: str, value: Any) -> list[Change]:
    """Change one setting, based on the version that the page showed."""
    version = pages.number(request.POST.get("version", ""))
    by = pages.actor(request)
    return workspace_settings.change({name: value}, by=by, version=version)


@never_cache
@require_http_methods(pages.METHODS)
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
    _, status = pages.submit(
        form, lambda fields: _change(request, name, fields["value"])
    )
    if status != 200:
        return _page(request, actor, status, {name: form})
    text = gettext("Saved: {setting}").format(setting=gettext(setting.label))
    messages.success(request, text)
    return redirect("workspace:settings")


@pages.action("workspace:settings", page_statuses=[409])
def reset(request: HttpRequest, name: str) -> str:
    pages.actor(request).require("settings.manage")
    setting = workspace_settings.by_name(name)
    _change(request, name, None)
    return gettext("{setting}: reset to the default").format(
        setting=gettext(setting.label)
    )


@pages.action("workspace:settings")
def test_connection(request: HttpRequest) -> tuple[int, str]:
    """Test the connection to the remote provider."""
    outcome = connection.test(by=pages.actor(request))
    level = messages.SUCCESS if outcome.ok else messages.ERROR
    milliseconds = figures.decimal(outcome.milliseconds, 0)
    return level, f"{words.pulse(outcome.message)} ({milliseconds} ms)"

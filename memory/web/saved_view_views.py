"""Saving and forgetting the filters of a list, for the person who reads it."""

from __future__ import annotations

from typing import Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from memory.accounts import saved_views
from memory.models import ViewPage
from memory.rules import errors
from memory.web import pages
from memory.web.filter_forms import set_filters

ROUTES: Final = {
    ViewPage.QUARANTINE: "quarantine:inbox",
    ViewPage.JOURNAL: "memory:journal",
    ViewPage.RECORDS: "records:list",
    ViewPage.AGENTS: "workspace:agents",
}


def _page(name: str) -> ViewPage:
    if name not in ViewPage.values:
        raise errors.NotFound
    return ViewPage(name)


@require_POST
def save(request: HttpRequest, page: str) -> HttpResponse:
    """Save the filters in the address under the posted name, and return to the list."""
    actor, view_page = pages.actor(request), _page(page)
    query = set_filters(request.GET)
    name = request.POST.get("name", "")
    try:
        view = saved_views.save(actor, view_page, name, query)
    except (errors.Invalid, errors.Conflict) as error:
        messages.error(request, error.detail)
    else:
        message = gettext("The view “{name}” is saved.")
        messages.success(request, message.format(name=view.name))
    return redirect(pages.address(ROUTES[view_page], query=query))


@require_POST
def forget(request: HttpRequest, page: str, view_id: int) -> HttpResponse:
    """Forget one of the person's views, and return to the list as it was."""
    view_page = _page(page)
    name = saved_views.forget(pages.actor(request), view_page, view_id)
    message = gettext("The view “{name}” is forgotten.")
    messages.success(request, message.format(name=name))
    return redirect(pages.address(ROUTES[view_page], query=set_filters(request.GET)))

"""The command palette: its page, its fragment, and opening a row by its id.

A text that is looked for may be a person's name: the palette sends it in the body of a
request, never in an address. ``GET ?find=`` stays for addresses that people saved.
"""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from crewship_memory.find import rows, search
from memory.accounts import sessions
from memory.rules import errors
from memory.web import pages

MAX_RECENT: Final = 12


def _recent(request: HttpRequest) -> list[str]:
    """Return the ids that this person opened last, in this workspace, newest first."""
    workspace_id = pages.actor(request).workspace_id
    stored = request.session.get(sessions.RECENT, {})
    return list(stored.get(workspace_id, []))


@require_http_methods(pages.METHODS)
def find(request: HttpRequest) -> HttpResponse:
    """Show what matches; a whole page goes straight to a row that the text names."""
    actor = pages.actor(request)
    params = request.POST if request.method == "POST" else request.GET
    query = params.get("find", "").strip()[: search.QUERY_CHARS]
    part = pages.fragment(request, "hits")
    if not part and (hit := search.straight(actor, query)):
        return redirect(hit.url)
    groups = search.search(actor, query, _recent(request))
    context = {"query": query, "groups": groups, "in_palette": bool(part)}
    return render(request, f"find.html{part}", context)


@require_GET
def open_row(request: HttpRequest, row_id: str) -> HttpResponse:
    """Open a row by its id and remember the id; NotFound when it is not theirs."""
    actor = pages.actor(request)
    hit = rows.by_ids(actor, [row_id]).get(row_id)
    if hit is None:
        raise errors.NotFound
    ids = [row_id, *(item for item in _recent(request) if item != row_id)]
    # Only the workspace at work: another one's ids go when the person switches.
    recent = {actor.workspace_id: ids[:MAX_RECENT]}
    sessions.note(request.session, sessions.RECENT, recent)
    return redirect(hit.url)

"""Saved views: the filters of a list under a name, each person's own."""

from __future__ import annotations

from typing import Final

from django.db import transaction
from django.utils.translation import gettext

from memory.figures import grouped
from memory.models import SavedView, ViewPage
from memory.ports import subject_linker
from memory.rules import errors
from memory.rules.permissions import Actor

# Views that a person may save for one page.
LIMIT: Final = 30
NAME_CHARS: Final = 60
QUERY_CHARS: Final = 500
# Who may read the page may save views of it.
PERMISSIONS: Final = {
    ViewPage.QUARANTINE: "quarantine.read",
    ViewPage.JOURNAL: "journal.read",
    ViewPage.RECORDS: "records.read",
    ViewPage.AGENTS: "agents.read",
}


def saved(actor: Actor, page: ViewPage) -> list[SavedView]:
    """Return the person's own views of a page, by name."""
    views = SavedView.objects.filter(workspace_id=actor.workspace_id, page=page)
    return list(views.filter(user_id=actor.id))


def save(actor: Actor, page: ViewPage, name: str, query: str) -> SavedView:
    """Save a query string under a name, in place of an earlier one of that name."""
    actor.require(PERMISSIONS[page])
    name = " ".join(name.replace("\0", "").split())
    if not 0 < len(name) <= NAME_CHARS:
        detail = gettext("A name has between 1 and {limit} characters.").format(
            limit=NAME_CHARS
        )
        raise errors.Invalid(detail, code="bad_name")
    if len(query) > QUERY_CHARS:
        detail = gettext(
            "These filters are {size} characters long, and a saved view has at most"
            " {limit}. Shorten the words or remove a filter."
        ).format(size=grouped(len(query)), limit=QUERY_CHARS)
        raise errors.Invalid(detail, code="query_too_long")
    subject_linker.refuse(actor.workspace_id, (name, query))
    with transaction.atomic():
        names = [view.name for view in saved(actor, page)]
        if len(names) >= LIMIT and name not in names:
            detail = gettext(
                "You have {limit} saved views of this page. Forget one first."
            ).format(limit=LIMIT)
            raise errors.Conflict(detail, code="too_many")
        view, _ = SavedView.objects.update_or_create(
            workspace_id=actor.workspace_id,
            user_id=actor.id,
            page=page,
            name=name,
            defaults={"query": query},
        )
    return view


def forget(actor: Actor, page: ViewPage, view_id: int) -> str:
    """Delete one of the person's own views of a page, and return its name."""
    actor.require(PERMISSIONS[page])
    view = next((view for view in saved(actor, page) if view.pk == view_id), None)
    if view is None:
        raise errors.NotFound
    view.delete()
    return view.name

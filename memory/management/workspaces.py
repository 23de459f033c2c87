"""The workspace that the ``--workspace`` of a command names."""

from __future__ import annotations

from django.core.management.base import CommandError

from memory.models import Workspace


def with_slug(slug: str | None) -> Workspace:
    """Return a workspace, or raise CommandError."""
    workspace = Workspace.objects.filter(slug=slug or "").first()
    if workspace is None:
        raise CommandError(f"There is no workspace {slug!r}.")
    return workspace


def with_slug_or_all(slug: str | None) -> list[Workspace]:
    """Return the workspace that is named, or every one when none is.

    An empty name is an error: a script whose variable is not set means one workspace.
    """
    if slug is None:
        return list(Workspace.objects.order_by("slug"))
    return [with_slug(slug)]

"""The workspace that the ``--workspace`` of a command names."""

from __future__ import annotations

from django.core.management.base import CommandError

from memory.models import Workspace
from memory.ports import serving


def with_slug(slug: str | None) -> Workspace:
    """Return a workspace, or raise CommandError: also while it is not served."""
    workspace = Workspace.objects.filter(slug=slug or "").first()
    if workspace is None:
        raise CommandError(f"There is no workspace {slug!r}.")
    refusal = serving.refusal(workspace.pk)
    if refusal is not None:
        raise CommandError(refusal.detail)
    return workspace


def with_slug_or_all(slug: str | None) -> list[Workspace]:
    """Return the workspace that is named, or every one that is served when none is.

    An empty name is an error: a script whose variable is not set means one workspace.
    """
    if slug is None:
        rows = Workspace.objects.order_by("slug")
        return [row for row in rows if serving.refusal(row.pk) is None]
    return [with_slug(slug)]

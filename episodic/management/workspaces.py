"""The option ``--workspace`` of this package's commands."""

from __future__ import annotations

from django.core.management.base import CommandError

from memory.models import Workspace


def named(slug: str | None) -> list[Workspace]:
    """Return the workspace of a slug, or all of them when there is none."""
    rows = Workspace.objects.order_by("slug")
    workspaces = list(rows if slug is None else rows.filter(slug=slug))
    if slug is not None and not workspaces:
        raise CommandError(f"There is no workspace {slug!r}.")
    return workspaces

"""The workspace that the ``--workspace`` of a command names."""

from __future__ import annotations

from django.core.management.base import CommandError

from memory.models import Workspace


def named(slug: str | None) -> Workspace:
    """Return a workspace, or raise CommandError."""
    workspace = Workspace.objects.filter(slug=slug or "").first()
    if workspace is None:
        raise CommandError(f"There is no workspace {slug!r}.")
    return workspace


def named_or_all(slug: str | None) -> list[Workspace]:
    """Return the named workspace, or every one without a name."""
    return [named(slug)] if slug else list(Workspace.objects.order_by("slug"))

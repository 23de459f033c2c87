"""Retention of versions: a workspace's own window; the newest three stay for ever."""

from __future__ import annotations

import structlog
from django.db import DatabaseError

from memory import workspace_settings
from memory.files import versions
from memory.files.storage import RootLost
from memory.files.versions import Pruned
from memory.models import Workspace
from memory.rules import errors
from memory.workspace_settings import declarations

log = structlog.get_logger(__name__)


def days_of(workspace_id: str) -> int:
    """Return a workspace's window in days, 0 for ever."""
    return workspace_settings.value(workspace_id, declarations.VERSIONS_RETENTION_DAYS)


def run() -> dict[str, Pruned]:
    """Prune every workspace with its own window; one that fails stops no other.

    Raises RootLost when the folder of the blobs is gone.
    """
    pruned = {}
    for workspace in Workspace.objects.all():
        try:
            days = days_of(workspace.id)
            pruned[workspace.slug] = versions.prune(workspace.id, days=days)
        except RootLost:
            raise
        except (errors.AppError, OSError, DatabaseError):
            log.exception("retention_failed", workspace=workspace.slug)
    return pruned

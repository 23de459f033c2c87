"""How long versions stay: a workspace's own window, the newest three for ever."""

from __future__ import annotations

from typing import Final

import structlog
from django.db import DatabaseError

from memory.files import versions
from memory.files.vault import RootLost
from memory.files.versions import KEEP_DAYS, Pruned
from memory.models import Workspace
from memory.rules import errors

LIMIT: Final = 3_650
log = structlog.get_logger(__name__)


def days_of(settings: object) -> int:
    """Return a workspace's window in days, 0 for ever; nonsense is the default.

    A window that cannot be read must not be read as a short one.
    """
    told = (
        settings.get("versions_retention_days") if isinstance(settings, dict) else None
    )
    if isinstance(told, bool) or not isinstance(told, int):
        return KEEP_DAYS
    return told if 0 <= told <= LIMIT else KEEP_DAYS


def run() -> dict[str, Pruned]:
    """Prune every workspace with its own window; one that fails stops no other.

    A folder that is gone stops all: raises vault.RootLost.
    """
    done = {}
    for workspace in Workspace.objects.all():
        try:
            days = days_of(workspace.settings)
            done[workspace.slug] = versions.prune(workspace.id, days=days)
        except RootLost:
            raise
        except (errors.HouseError, OSError, DatabaseError):
            log.exception("retention_failed", workspace=workspace.slug)
    return done

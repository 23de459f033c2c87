"""When a member was last here, so that the first page can say what changed since."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.db import DatabaseError
from django.utils import timezone

from memory import outages
from memory.models import LastVisit
from memory.rules.permissions import Actor

# An absence this long begins a new visit.
ABSENCE: Final = timedelta(minutes=30)
# Loads closer together than this write nothing.
GRAIN: Final = timedelta(minutes=1)


def arrive(actor: Actor) -> datetime | None:
    """Note that a member is here; return when the visit before ended, if there was one.

    A member's own convenience: it lands in no journal, and a full disk does not keep
    the page from being read.
    """
    try:
        return _note(actor)
    except DatabaseError as error:
        if outages.meaning(error) is None:
            raise
        return None


def _note(actor: Actor) -> datetime | None:
    now = timezone.now()
    row, is_new = LastVisit.objects.get_or_create(
        workspace_id=actor.workspace_id, user_id=actor.id, defaults={"seen_at": now}
    )
    absence = now - row.seen_at
    if is_new or absence < GRAIN:
        return row.since
    if absence >= ABSENCE:
        row.since = row.seen_at
    row.seen_at = now
    row.save(update_fields=["seen_at", "since"])
    return row.since

"""Things to put into the world, made by the services that make them in production."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from memory.journal import append as journal
from memory.models import JournalEntry
from memory.rules.entries import NewEntry
from memory.rules.permissions import Actor

_numbers = itertools.count(1)


def new(**fields: Any) -> NewEntry:
    """Return an entry that nobody wrote yet: an escalation, which is embedded."""
    defaults = {
        "entry_type": "peer.escalation",
        "summary": f"Escalation number {next(_numbers)}",
    }
    return NewEntry(**{**defaults, **fields})


def append(by: Actor, **fields: Any) -> JournalEntry:
    """Append one entry the way an agent does."""
    return journal.append(new(**fields), by=by)


def append_many(by: Actor, summaries: Iterable[str], **fields: Any) -> list[Any]:
    """Append many entries in one batch and return the rows."""
    items = [new(summary=summary, **fields) for summary in summaries]
    return [row for _, row in journal.append_batch(items, by=by).accepted]


def ago(days: float = 0, *, hours: float = 0, seconds: float = 0) -> datetime:
    """Return a moment in the past."""
    return timezone.now() - timedelta(days=days, hours=hours, seconds=seconds)

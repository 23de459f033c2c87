"""Things to put into the world, made by the services that make them in production."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import factory
from django.utils import timezone

from memory import journal
from memory.models import JournalEntry
from memory.rules.actors import Actor
from memory.rules.entries import NewEntry


class EntryFactory(factory.Factory[NewEntry]):
    """A journal entry as a caller hands it in: an escalation, which is embedded."""

    class Meta:
        model = NewEntry

    entry_type = "peer.escalation"
    summary = factory.Sequence(lambda n: f"Escalation number {n}")
    payload = factory.LazyFunction(dict)
    refs = factory.LazyFunction(dict)


def new(**fields: Any) -> NewEntry:
    """Return an entry that nobody wrote yet."""
    return EntryFactory.build(**fields)


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

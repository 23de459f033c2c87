"""Entries that stay in the journal and are hidden from recall and search.

Retired: a newer version replaced it. Restricted: a person's data may be stored but not
used. Either hides an entry; it comes back when both have ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from memory.journal.erasure import entries_left
from memory.models import JournalEntry

# What recall, search and exports may use.
USABLE = Q(retired_at=None, restricted_at=None)
_COLUMNS: Final = ", ".join(
    str(field.column) for field in JournalEntry._meta.concrete_fields
)
_USABLE_SQL: Final = (
    f"SELECT {_COLUMNS} FROM journal_entries WHERE retired_at IS NULL"  # noqa: S608  (ours)
    " AND restricted_at IS NULL AND erased_at IS NULL AND id IN"
)


def usable_entries(entry_ids: Sequence[str]) -> list[JournalEntry]:
    """Return the named entries that may be used and have their text, in any order.

    Plain SQL: at every question, building a query would cost more than running it.
    """
    if not entry_ids:
        return []
    marks = ", ".join(["%s"] * len(entry_ids))
    return list(JournalEntry.objects.raw(f"{_USABLE_SQL} ({marks})", list(entry_ids)))


def _mark(workspace_id: str, entry_ids: Sequence[str], column: str, *, on: bool) -> int:
    """Set or clear a column, and send ``entries_left`` for the entries that changed."""
    with transaction.atomic():
        rows = JournalEntry.objects.filter(
            workspace_id=workspace_id, pk__in=entry_ids, **{f"{column}__isnull": on}
        )
        ids = list(rows.values_list("pk", flat=True))
        rows = JournalEntry.objects.filter(workspace_id=workspace_id, pk__in=ids)
        rows.update(**{column: timezone.now() if on else None})
        affected_ids = (
            ids if on else list(rows.filter(USABLE).values_list("pk", flat=True))
        )
        entries_left.send(
            sender=JournalEntry,
            workspace_id=workspace_id,
            entry_ids=affected_ids,
            kind="withheld" if on else "freed",
        )
    return len(ids)


def retire(workspace_id: str, entry_ids: Sequence[str]) -> int:
    """Hide entries that a newer version replaced from recall; return how many."""
    return _mark(workspace_id, entry_ids, "retired_at", on=True)


def restrict(workspace_id: str, entry_ids: Sequence[str]) -> int:
    """Keep entries out of every use until ``lift``; return how many."""
    return _mark(workspace_id, entry_ids, "restricted_at", on=True)


def lift(workspace_id: str, entry_ids: Sequence[str]) -> int:
    """End a restriction; entries that are retired too stay out. Return how many."""
    return _mark(workspace_id, entry_ids, "restricted_at", on=False)

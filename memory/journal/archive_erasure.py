"""Erase or mask texts of archived entries; the rows stay.

An archived row proves that a number of the chain was removed by compaction: its
identity and hashes stay, its texts go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from django.db import transaction

from memory.journal import compaction, erasure
from memory.models import ArchivedEntry
from memory.rules import entries

_FREE_TEXTS: Final = ("mission_id", "trace_id", "span_id")
_COLUMNS: Final = ("summary", "payload_text", "subjects", *_FREE_TEXTS)


def empty_archived(workspace_id: str, ids: Sequence[str]) -> int:
    """Empty the texts of archived entries; return the number of rows.

    What else was kept of them goes in the same transaction, as with other entries.
    """
    rows = ArchivedEntry.objects.filter(workspace_id=workspace_id, pk__in=ids)
    with transaction.atomic():
        erasure.send_entries_left(workspace_id, ids, "erased")
        return rows.update(
            summary="",
            payload_text="{}",
            subjects="",
            **dict.fromkeys(_FREE_TEXTS),
        )


def mask_archived(
    workspace_id: str, ids: Sequence[str], mask: Callable[[Any], Any]
) -> int:
    """Replace texts and payloads by what ``mask`` returns; return the row count.

    ``mask`` takes a text or a JSON value. A changed line of ``subjects`` is removed.
    """
    with transaction.atomic():
        rows = list(
            ArchivedEntry.objects.select_for_update(of=("self",)).filter(
                workspace_id=workspace_id, pk__in=ids
            )
        )
        for row in rows:
            row.summary = str(mask(row.summary))[: compaction.SUMMARY_CHARS]
            payload_text = entries.canonical(mask(row.payload))
            row.payload_text = compaction.cut_payload(payload_text)
            subjects = [
                subject
                for subject in row.subjects.split("\n")
                if subject and mask(subject) == subject
            ]
            row.subjects = "\n" + "\n".join(subjects) + "\n" if subjects else ""
            for name in _FREE_TEXTS:
                value = getattr(row, name)
                setattr(row, name, str(mask(value))[:128] if value else value)
        ArchivedEntry.objects.bulk_update(rows, _COLUMNS)
    return len(rows)

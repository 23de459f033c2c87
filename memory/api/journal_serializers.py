"""Journal rows in the form of the API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from memory.api.journal_schemas import EntryOut
from memory.journal import append as journal
from memory.journal import queries
from memory.journal.queries import JournalPage
from memory.models import ArchivedEntry, JournalEntry
from memory.ports import ranker
from memory.ports.ranker import EmbeddingState

# What live and archived entries have as it is answered.
_COMMON: Final = EntryOut.model_fields.keys() - {
    "refs", "erased", "archived", "embedding",
}  # fmt: skip


def _common(row: JournalEntry | ArchivedEntry) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _COMMON}


def entries(rows: Sequence[JournalEntry]) -> list[dict[str, Any]]:
    """Return entries with the state of their embeddings."""
    states = ranker.ranker().states(rows)
    return [
        _common(row)
        | {
            "refs": row.refs,
            "erased": row.erased_at is not None,
            "embedding": states[row.id],
        }
        for row in rows
    ]


def _archived(row: ArchivedEntry) -> dict[str, Any]:
    """Return what the archive keeps of an entry."""
    return _common(row) | {
        "refs": {},
        "erased": False,
        "archived": True,
        "embedding": EmbeddingState("not_embeddable"),
    }


def page(journal_page: JournalPage) -> list[dict[str, Any]]:
    """Return a page's entries, live and archived, newest first."""
    rows = [
        *entries(journal_page.entries),
        *(_archived(row) for row in journal_page.archived),
    ]
    return sorted(rows, key=lambda row: (row["ts"], row["seq"]), reverse=True)


def _chain(
    row: JournalEntry | ArchivedEntry,
    verdict: str,
    previous: JournalEntry | None = None,
    following: JournalEntry | None = None,
) -> dict[str, Any]:
    return {
        "seq": row.seq,
        "prev_hash": row.prev_hash,
        "entry_hash": row.entry_hash,
        "commitment": row.commitment,
        "previous_id": previous.id if previous else None,
        "next_id": following.id if following else None,
        "verdict": verdict,
    }


def entry(row: JournalEntry) -> dict[str, Any]:
    """Return one entry with its position in the chain, priorities and subjects."""
    place = queries.entry_place(row)
    return entries([row])[0] | {
        "chain": _chain(row, place.verdict, place.previous, place.following),
        "priorities": queries.priorities(row),
        "subjects": sorted(row.mentions.values_list("alias", flat=True)),
    }


def archived_entry(row: ArchivedEntry) -> dict[str, Any]:
    """Return one archived entry; a checkpoint signs its link in the chain."""
    return _archived(row) | {
        "chain": _chain(row, "archived"),
        "priorities": [],
        "subjects": [alias for alias in row.subjects.split("\n") if alias],
    }


def appended(row: JournalEntry) -> dict[str, Any]:
    return {
        "id": row.id,
        "seq": row.seq,
        "ts": journal.stamp(row.ts),
        "entry_hash": row.entry_hash,
        "embedding": "pending" if row.embeddable else "not_embeddable",
    }


def batch(result: journal.BatchResult) -> dict[str, Any]:
    return {
        "accepted": [
            {"index": index, "id": row.id, "seq": row.seq}
            for index, row in result.accepted
        ],
        "rejected": [asdict(item) for item in result.rejected],
    }

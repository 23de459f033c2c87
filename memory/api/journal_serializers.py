"""Journal rows in the form of the API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from memory.journal import append as journal
from memory.journal import queries, verify
from memory.journal.queries import JournalPage
from memory.models import ArchivedEntry, JournalEntry
from memory.ports import ranker
from memory.ports.ranker import EmbeddingState

_PLAIN = (
    "id",
    "workspace_id",
    "seq",
    "entry_type",
    "severity",
    "priority",
    "actor_type",
    "actor_id",
    "crew_id",
    "agent_id",
    "mission_id",
    "trace_id",
    "span_id",
    "summary",
    "payload",
    "refs",
)


def entries(rows: Sequence[JournalEntry]) -> list[dict[str, Any]]:
    """Return entries with the state of their embeddings."""
    states = ranker.ranker().states(rows)
    return [
        {name: getattr(row, name) for name in _PLAIN}
        | {
            "ts": journal.stamp(row.ts),
            "erased": row.erased_at is not None,
            "archived": False,
            "embedding": asdict(states[row.id]),
        }
        for row in rows
    ]


def _archived(row: ArchivedEntry) -> dict[str, Any]:
    """Return what the archive keeps of an entry."""
    fields = {name: getattr(row, name) for name in _PLAIN if name != "refs"}
    return fields | {
        "refs": {},
        "ts": journal.stamp(row.ts),
        "erased": False,
        "archived": True,
        "embedding": asdict(EmbeddingState("not_embeddable")),
    }


def page(journal_page: JournalPage) -> list[dict[str, Any]]:
    """Return a page's entries, live and archived, newest first."""
    rows = [
        *entries(journal_page.entries),
        *(_archived(row) for row in journal_page.archived),
    ]
    return sorted(rows, key=lambda row: (row["ts"], row["seq"]), reverse=True)


def entry(row: JournalEntry) -> dict[str, Any]:
    """Return one entry with its position in the chain, priorities and subjects."""
    place = queries.entry_place(row)
    steps = queries.priorities(row)
    return entries([row])[0] | {
        "chain": {
            "seq": row.seq,
            "prev_hash": row.prev_hash,
            "entry_hash": row.entry_hash,
            "commitment": row.commitment,
            "previous_id": place.previous.id if place.previous else None,
            "next_id": place.following.id if place.following else None,
            "verdict": place.verdict,
        },
        "priorities": [
            {
                "previous": step.previous,
                "priority": step.priority,
                "reason": step.reason,
                "set_by": step.set_by,
                "set_at": journal.stamp(step.set_at),
            }
            for step in steps
        ],
        "subjects": sorted(row.mentions.values_list("alias", flat=True)),
    }


def archived_entry(row: ArchivedEntry) -> dict[str, Any]:
    """Return one archived entry; a checkpoint signs its link in the chain."""
    return _archived(row) | {
        "chain": {
            "seq": row.seq,
            "prev_hash": row.prev_hash,
            "entry_hash": row.entry_hash,
            "commitment": row.commitment,
            "previous_id": None,
            "next_id": None,
            "verdict": "archived",
        },
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


def report(verification: verify.Report) -> dict[str, Any]:
    return {
        "ok": verification.ok,
        "count": verification.count,
        "checked_at": journal.stamp(verification.checked_at),
        "break_count": verification.break_count,
        "breaks": [asdict(chain_break) for chain_break in verification.breaks],
        "erased": verification.erased,
        "checkpoints": verification.checkpoints,
        "unproved": verification.unproved,
    }

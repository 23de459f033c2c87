"""Erase and redact journal entries while the chain still verifies.

An erased entry loses its content, its salt and the free texts of its columns; its
number, commitment and hash stay, and a seal proves that this installation erased it. A
redacted entry keeps the remaining words, sealed. Packages that store something derived
from an entry (vectors, edges) listen to ``entries_left``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

from django.db import connection, transaction
from django.db.models import Field, Model, QuerySet, Value
from django.db.models.functions import Coalesce
from django.dispatch import Signal
from django.utils import timezone

from memory.journal import append as journal
from memory.models import JournalEntry, PriorityChange, SubjectMention
from memory.rules import entries, hashing

_Row = TypeVar("_Row", bound=Model)
# Sent inside the transaction with workspace_id, entry_ids and kind: erased, redacted,
# withheld (out of recall and search, kept) or freed (back again).
entries_left = Signal()

BATCH: Final = 50
_FREE_TEXTS: Final = ("mission_id", "trace_id", "span_id")
_COLUMNS: Final = (
    "summary", "payload_text", "refs_text", "body", "embeddable", "salt", "seal",
    "erased_at", "redacted_at", *_FREE_TEXTS,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Remains:
    """What a redaction leaves of an entry; ``columns`` are its free-text columns."""

    summary: str
    payload: Mapping[str, Any]
    refs: Mapping[str, Any]
    columns: Mapping[str, str | None]


def _seal(row: JournalEntry, kind: str) -> None:
    row.salt = None
    row.seal = hashing.seal(journal.key(), row.entry_hash, kind, journal.content(row))


def batches(entry_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield ids in batches small enough that appends wait only briefly for one."""
    for start in range(0, len(entry_ids), BATCH):
        yield entry_ids[start : start + BATCH]


def of(rows: QuerySet[_Row], workspace_id: str) -> QuerySet[_Row]:
    """Return the rows of a workspace, for queries that name their primary keys.

    COALESCE keeps SQLite's planner from using the column's index, with which it would
    read the whole workspace instead of a few rows.
    """
    plain = rows.alias(home=Coalesce("workspace_id", Value("")))
    return cast("QuerySet[_Row]", plain.filter(home=workspace_id))


def _live(workspace_id: str, entry_ids: Sequence[str]) -> QuerySet[JournalEntry]:
    rows = JournalEntry.objects.filter(pk__in=entry_ids, erased_at=None)
    return of(rows, workspace_id)


def _fields() -> list[Field[Any, Any]]:
    by_name = {field.name: field for field in JournalEntry._meta.concrete_fields}
    return [by_name[name] for name in _COLUMNS]


def _values(rows: Sequence[JournalEntry]) -> list[list[Any]]:
    """Return the changed columns of entries as database values, with the id last."""
    prepare = [(field.attname, field.get_db_prep_save) for field in _fields()]
    return [
        [*(to_db(getattr(row, name), connection) for name, to_db in prepare), row.id]
        for row in rows
    ]


def _save(values: list[list[Any]]) -> None:
    """Update the rows with one prepared statement, run once per row.

    Appends wait meanwhile, and saving through the model takes five times as long.
    """
    columns = ", ".join(f"{field.column} = %s" for field in _fields())
    sql = f"UPDATE journal_entries SET {columns} WHERE id = %s"  # noqa: S608  (ours)
    with connection.cursor() as cursor:
        cursor.executemany(f"{sql} AND erased_at IS NULL", values)


def send_entries_left(workspace_id: str, entry_ids: Sequence[str], kind: str) -> None:
    """Tell the listeners, inside the transaction of the change."""
    entries_left.send(
        sender=JournalEntry,
        workspace_id=workspace_id,
        entry_ids=list(entry_ids),
        kind=kind,
    )


def erase(workspace_id: str, entry_ids: Sequence[str]) -> int:
    """Erase the texts of entries, in one transaction; return how many had any.

    The caller checks permission and legal holds and keeps the audit log. Idempotent.
    """
    # Computed before the transaction, so that appends do not wait for it.
    rows = sorted(_live(workspace_id, entry_ids), key=lambda row: row.seq)
    now = timezone.now()
    for row in rows:
        row.summary, row.body = "", ""
        row.payload_text, row.refs_text = "{}", "{}"
        row.embeddable, row.erased_at, row.redacted_at = False, now, None
        for name in _FREE_TEXTS:
            setattr(row, name, None)
        _seal(row, "erased")
    # In order of ids, as everywhere that several rows are locked: no deadlock.
    values = _values(sorted(rows, key=lambda row: row.id))
    with transaction.atomic():
        _save(values)
        row_filter = {
            "workspace_id": workspace_id,
            "entry_id__in": [row.id for row in rows],
        }
        SubjectMention.objects.filter(**row_filter).delete()
        # The ledger rows stay: verification needs them to explain the priority.
        PriorityChange.objects.filter(**row_filter).exclude(reason="").update(reason="")
        send_entries_left(workspace_id, [row.id for row in rows], "erased")
    return len(rows)


def redact(workspace_id: str, remains: Mapping[str, Remains]) -> int:
    """Replace the texts of entries by what remains of them; return how many."""
    with transaction.atomic():
        live = _live(workspace_id, list(remains)).select_for_update(of=("self",))
        rows = sorted(live.order_by("pk"), key=lambda row: row.seq)
        now = timezone.now()
        for row in rows:
            rest = remains[row.id]
            row.summary = rest.summary
            row.payload_text = entries.canonical(dict(rest.payload))
            row.refs_text = entries.canonical(dict(rest.refs))
            row.body = entries.body_of(row.entry_type, dict(rest.payload))
            row.redacted_at = now
            for name in _FREE_TEXTS:
                setattr(row, name, rest.columns.get(name, getattr(row, name)))
            _seal(row, "redacted")
        _save(_values(rows))
        send_entries_left(workspace_id, [row.id for row in rows], "redacted")
    return len(rows)

"""The head row of a workspace's chain, and the SQL statements of every append.

Plain SQL: for one row the ORM takes longer to build such a statement than the database
takes to run it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from django.db import connection, models, transaction

from memory import authors
from memory.models import ChainHead, JournalEntry, SubjectMention
from memory.rules import tokenizer
from memory.rules.entries import NewEntry
from memory.word_index import storage

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper

_HEAD: Final = (
    "SELECT seq, entry_hash, mac FROM journal_chain_heads WHERE workspace_id = %s"
)
_MOVE: Final = (
    "UPDATE journal_chain_heads SET seq = %s, entry_hash = %s, mac = %s"
    " WHERE workspace_id = %s"
)


# More in a statement is no quicker, and SQLite takes 32,766 parameters.
ROWS_AT_ONCE: Final = 50
_FIELDS: Final = JournalEntry._meta.local_concrete_fields
_READ: Final = attrgetter(*(field.attname for field in _FIELDS))
_TIMES: Final = [
    (place, field)
    for place, field in enumerate(_FIELDS)
    if isinstance(field, models.DateTimeField)
]
_BYTES: Final = [
    (place, field)
    for place, field in enumerate(_FIELDS)
    if isinstance(field, models.BinaryField)
]


def locked(workspace_id: str) -> ChainHead:
    """Return the chain's head, locked until the transaction ends."""
    lock = " FOR UPDATE" if connection.features.has_select_for_update else ""
    with connection.cursor() as cursor:
        cursor.execute(_HEAD + lock, [workspace_id])
        row = cursor.fetchone()
    if row is None:
        ChainHead.objects.get_or_create(workspace_id=workspace_id)
        return ChainHead.objects.select_for_update().get(workspace_id=workspace_id)
    seq, entry_hash, mac = row
    return ChainHead(workspace_id=workspace_id, seq=seq, entry_hash=entry_hash, mac=mac)


def queue(workspace_id: str) -> str:
    """Return the queue of a workspace's appends; where all have one writer, of all."""
    return "" if connection.vendor == "sqlite" else workspace_id


def turn(queue: str) -> ChainHead | None:
    """Wait for a queue's turn and return its chain's head, locked.

    None where the transaction itself is the turn, of whichever workspace.
    """
    return locked(queue) if queue else None


@cache
def _insert_sql(count: int) -> str:
    """Return the statement that writes so many rows."""
    columns = ", ".join(f'"{field.column}"' for field in _FIELDS)
    marks = f"({', '.join(['%s'] * len(_FIELDS))})"
    table, all_marks = JournalEntry._meta.db_table, ", ".join([marks] * count)
    return f"INSERT INTO {table} ({columns}) VALUES {all_marks}"  # noqa: S608


def _values(
    rows: Sequence[JournalEntry], database: BaseDatabaseWrapper
) -> list[list[Any]]:
    """Return the columns of rows as the database takes them.

    Texts and numbers go as they are; asking every field would be most of the cost. The
    rows of a batch share most of their times.
    """
    values = [list(_READ(row)) for row in rows]
    times: dict[datetime | None, Any] = {None: None}
    for row_values in values:
        for place, field in _TIMES:
            moment = row_values[place]
            if moment not in times:
                times[moment] = field.get_db_prep_save(moment, database)
            row_values[place] = times[moment]
        for place, binary in _BYTES:
            row_values[place] = binary.get_db_prep_save(row_values[place], database)
    return values


def insert(rows: Sequence[JournalEntry]) -> None:
    """Write new rows, many with a statement, and their words.

    SQLite works off its full-text index at the end of each statement that writes.
    """
    # Not through Django's connection proxy: a lookup for each field of each row would
    # be most of the cost.
    database = transaction.get_connection()
    values = _values(rows, database)
    with database.cursor() as cursor:
        for start in range(0, len(values), ROWS_AT_ONCE):
            part = values[start : start + ROWS_AT_ONCE]
            cursor.execute(_insert_sql(len(part)), list(chain.from_iterable(part)))
    names = authors.names(row.agent_id for row in rows)
    storage.store(
        (
            (row.docid, row.summary, row.body, names.get(row.agent_id or ""))
            for row in rows
        ),
        {row.docid: (row.crew_id, row.agent_id, row.entry_type) for row in rows},
    )
    for row in rows:
        row._state.adding, row._state.db = False, database.alias


def insert_mentions(
    rows: Sequence[JournalEntry], new_entries: Sequence[NewEntry]
) -> None:
    """Write the people whom the writers of rows name."""
    mentions: list[SubjectMention] = []
    for row, new in zip(rows, new_entries, strict=True):
        by_fold = {tokenizer.fold(alias): alias.strip() for alias in new.subjects}
        mentions.extend(
            SubjectMention(
                workspace_id=row.workspace_id,
                entry_id=row.id,
                alias=alias,
                folded=folded,
            )
            for folded, alias in by_fold.items()
        )
    if mentions:
        SubjectMention.objects.bulk_create(mentions)


def move(head: ChainHead) -> None:
    """Save the chain's new head."""
    with connection.cursor() as cursor:
        cursor.execute(_MOVE, [head.seq, head.entry_hash, head.mac, head.workspace_id])

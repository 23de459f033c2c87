"""The head row of a workspace's chain, and the SQL statements of every append.

Plain SQL: for one row the ORM takes longer to build such a statement than the database
takes to run it.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from django.db import connection, models, transaction

from memory import authors
from memory.models import ChainHead, JournalEntry
from memory.word_index import storage

_HEAD: Final = (
    "SELECT seq, entry_hash, mac FROM journal_chain_heads WHERE workspace_id = %s"
)
_MOVE: Final = (
    "UPDATE journal_chain_heads SET seq = %s, entry_hash = %s, mac = %s"
    " WHERE workspace_id = %s"
)


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


def insert(rows: Sequence[JournalEntry]) -> None:
    """Write new rows with one prepared statement, and their words with another."""
    # Not through Django's connection proxy: a lookup for each field of each row would
    # be most of the cost.
    database = transaction.get_connection()
    fields = JournalEntry._meta.local_concrete_fields
    columns = ", ".join(f'"{field.column}"' for field in fields)
    marks = ", ".join(["%s"] * len(fields))
    table = JournalEntry._meta.db_table
    sql = f"INSERT INTO {table} ({columns}) VALUES ({marks})"  # noqa: S608
    # Texts and numbers go as they are; asking every field would be most of the cost.
    converters = [
        (place, field.get_db_prep_save)
        for place, field in enumerate(fields)
        if isinstance(field, (models.DateTimeField, models.BinaryField))
    ]
    read = attrgetter(*(field.attname for field in fields))
    values = [list(read(row)) for row in rows]
    for row_values in values:
        for place, to_db in converters:
            row_values[place] = to_db(row_values[place], database)
    with database.cursor() as cursor:
        cursor.executemany(sql, values)
    names = authors.names(row.agent_id for row in rows)
    storage.store(
        (row.docid, row.summary, row.body, names.get(row.agent_id or ""))
        for row in rows
    )
    for row in rows:
        row._state.adding, row._state.db = False, database.alias


def move(head: ChainHead) -> None:
    """Save the chain's new head."""
    with connection.cursor() as cursor:
        cursor.execute(_MOVE, [head.seq, head.entry_hash, head.mac, head.workspace_id])

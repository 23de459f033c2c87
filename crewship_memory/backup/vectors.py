"""The vectors of embeddings, which PostgreSQL has in a table of their own.

In a backup they stand in the rows of embeddings, as 32-bit numbers, whatever database
they come from. PostgreSQL rounds them to 16 bits when they are stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np
from django.db import connection, transaction
from numpy.typing import NDArray
from psycopg import sql

from crewship_memory.backup.tables import Table
from episodic.models import Embedding
from episodic.vectors import pg_store

EMBEDDINGS: Final = Embedding._meta.db_table
COLUMN: Final = "vector"
SENT: Final = sql.SQL(
    "(SELECT halfvec_send(v.vec) FROM journal_vectors v"
    " WHERE v.workspace_id = journal_embeddings.workspace_id"
    " AND v.entry_id = journal_embeddings.entry_id)"
)
CHUNK: Final = 2_000
_INDEXES: Final = (
    "SELECT indexname, indexdef FROM pg_indexes"
    " WHERE tablename = 'journal_vectors' AND indexdef LIKE '%USING hnsw%'"
)
# One process alone: several share memory that a container may not have.
_MEMORY: Final = (
    "SET LOCAL maintenance_work_mem = '512MB'",
    "SET LOCAL max_parallel_maintenance_workers = 0",
)


def place(table: Table) -> int | None:
    """Return which column of a table is the vector; None where it has none."""
    if table.name != EMBEDDINGS:
        return None
    return [column.name for column in table.columns].index(COLUMN)


def plain(sent: bytes | None) -> bytes:
    """Return a vector as the server sends it as 32-bit numbers; empty for none."""
    return b"" if sent is None else pg_store.floats([bytes(sent)])[0].tobytes()


def fill() -> None:
    """Put the vectors of loaded embeddings where they are searched. Safe to repeat.

    All at once or nothing: cut off in between, the table would have no indexes.
    """
    if not pg_store.is_used():
        return
    loaded = Embedding.objects.filter(dim__gt=0).exclude(vector=b"").order_by("pk")
    if not loaded.exists():
        return
    with transaction.atomic(), _without_indexes():
        while chunk := list(loaded.only("pk", COLUMN)[:CHUNK]):
            pg_store.store([(row.pk, _numbers(row)) for row in chunk])
            ids = [row.pk for row in chunk]
            Embedding.objects.filter(pk__in=ids).update(vector=b"")


def _numbers(row: Embedding) -> NDArray[np.float32]:
    return np.frombuffer(bytes(row.vector), dtype="<f4")


@contextmanager
def _without_indexes() -> Iterator[None]:
    """Make the graphs of vectors once, at the end: row by row is many times slower."""
    with connection.cursor() as cursor:
        cursor.execute(_INDEXES)
        indexes = cursor.fetchall()
        for name, _ in indexes:
            cursor.execute(f"DROP INDEX {connection.ops.quote_name(name)}")
        yield
        for statement in _MEMORY:
            cursor.execute(statement)
        for _, definition in indexes:
            # It stands there as that of the parent, without its partitions.
            cursor.execute(definition.replace(" ON ONLY ", " ON ", 1))

"""The vectors of embeddings, which PostgreSQL has in a table of their own.

In a backup they stand in the rows of embeddings, as 32-bit numbers, whatever database
they come from. PostgreSQL rounds them to 16 bits when they are stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Final

import numpy as np
from django.db import connection, transaction
from numpy.typing import NDArray
from psycopg import sql

from crewship_memory.backup import indexes
from crewship_memory.backup.tables import Table
from episodic.models import Embedding
from episodic.vectors import pg_pages, pg_store

EMBEDDINGS: Final = Embedding._meta.db_table
COLUMN: Final = "vector"
SENT: Final = sql.SQL(
    "(SELECT halfvec_send(v.vec) FROM journal_vectors v"
    " WHERE v.workspace_id = journal_embeddings.workspace_id"
    " AND v.entry_id = journal_embeddings.entry_id)"
)
CHUNK: Final = 2_000
_LOADED: Final = (
    "SELECT entry_id, vector FROM journal_embeddings WHERE entry_id > %s"
    " AND dim > 0 AND length(vector) = 4 * dim ORDER BY entry_id LIMIT %s"
)
# One rewrite of the table: emptied row by row it would be there twice.
_EMPTIED: Final = (
    "ALTER TABLE journal_embeddings ALTER COLUMN vector TYPE bytea USING ''::bytea"
)


# Ranked as if it had a vector, an entry would never be found by meaning.
_WITHOUT_VECTOR: Final = {
    "postgresql": "NOT EXISTS (SELECT FROM journal_vectors v"
    " WHERE v.workspace_id = journal_embeddings.workspace_id"
    " AND v.entry_id = journal_embeddings.entry_id)",
    "sqlite": "length(vector) <> 4 * dim",
}
_PENDING: Final = (
    "UPDATE journal_embeddings SET vector = %s, dim = 0, attempts = 0,"
    " last_error = '', next_attempt_at = NULL, lease_until = NULL,"
    " state = CASE state WHEN 'withheld' THEN 'withheld' ELSE 'pending' END"
    " WHERE dim > 0 AND {}"
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
    loaded = Embedding.objects.filter(dim__gt=0).exclude(vector=b"")
    if not loaded.exists():
        return
    with transaction.atomic(), indexes.left_out(connection, "journal_vectors"):
        # Pages that are filled stay so. The longest vectors come last, and decide.
        lengths = loaded.values_list("workspace_id", "dim").distinct()
        for workspace_id, dim in sorted(lengths, key=itemgetter(1)):
            pg_pages.fit(workspace_id, dim)
        pg_store.store_all(_chunks())
        with connection.cursor() as cursor:
            cursor.execute(_EMPTIED)


def queue_without_vector() -> int:
    """Let what has no vector of its length be embedded again; return how many.

    On PostgreSQL after ``fill``, which leaves such vectors out.
    """
    with connection.cursor() as cursor:
        cursor.execute(_PENDING.format(_WITHOUT_VECTOR[connection.vendor]), [b""])
        return int(cursor.rowcount)


def _chunks() -> Iterator[list[tuple[str, NDArray[np.float32]]]]:
    last = ""
    while True:
        with connection.cursor() as cursor:
            cursor.execute(_LOADED, [last, CHUNK])
            rows = cursor.fetchall()
        if not rows:
            return
        yield [(key, np.frombuffer(bytes(blob), "<f4")) for key, blob in rows]
        last = rows[-1][0]

"""Reading stored vectors for the matrix, straight from SQLite.

Plain SQL instead of the ORM: building a hundred thousand date objects would take longer
than everything else. SQLite keeps a Julian day as whole milliseconds, so the time it
gives back is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from episodic.vectors.matrix import Row

CHUNK: Final = 5_000
_SELECT: Final = (
    "SELECT m.entry_id, m.crew_id, m.agent_id, e.entry_type,"
    " CAST(ROUND((julianday(e.ts) - 2440587.5) * 86400000) AS INTEGER),"
    " m.importance_score, m.vector"
    " FROM journal_embeddings m JOIN journal_entries e ON e.id = m.entry_id"
    " WHERE m.workspace_id = %s AND m.model = %s AND m.state = 'indexed' AND m.dim = %s"
)
Batch = tuple[list[Row], NDArray[np.float32]]


def _decode(rows: Sequence[tuple[Any, ...]], dim: int) -> Batch:
    """Return rows and their vectors; a vector of the wrong length is left out."""
    good = [row for row in rows if len(row[6]) == 4 * dim]
    vectors = np.frombuffer(b"".join(row[6] for row in good), dtype="<f4")
    decoded = [Row(*row[:6]) for row in good]
    return decoded, vectors.reshape(len(good), dim).astype(np.float32, copy=False)


def count(workspace_id: str, model: str) -> int:
    """Return how many vectors a workspace has, to allocate the matrix once."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM journal_embeddings"
            " WHERE workspace_id = %s AND model = %s AND state = 'indexed'",
            [workspace_id, model],
        )
        return int(cursor.fetchone()[0])


def read_all(workspace_id: str, model: str, dim: int) -> Iterator[Batch]:
    """Yield all vectors of a workspace and model, a few thousand at a time."""
    with connection.cursor() as cursor:
        cursor.execute(_SELECT, [workspace_id, model, dim])
        while rows := cursor.fetchmany(CHUNK):
            yield _decode(rows, dim)


def read_ids(
    workspace_id: str, model: str, dim: int, entry_ids: Sequence[str]
) -> Batch:
    """Return the vectors of named entries, those that have one."""
    marks = ", ".join(["%s"] * len(entry_ids))
    with connection.cursor() as cursor:
        cursor.execute(
            f"{_SELECT} AND m.entry_id IN ({marks})",
            [workspace_id, model, dim, *entry_ids],
        )
        return _decode(cursor.fetchall(), dim)

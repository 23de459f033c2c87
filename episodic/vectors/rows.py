"""Reading stored vectors for the matrix, straight from SQLite.

Plain SQL instead of the ORM, and times as text: building a million date objects would
take longer than everything else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from episodic.vectors import entry_rows
from episodic.vectors.cosine import Floats
from episodic.vectors.entry_rows import Ids
from episodic.vectors.matrix import Batch

CHUNK: Final = 5_000
_COLUMNS: Final = (
    "SELECT m.entry_id, m.crew_id, m.agent_id, e.entry_type, e.ts || '',"
    " e.recorded_at || '', m.importance_score, m.vector FROM journal_embeddings m"
)
_OF_MODEL: Final = (
    " WHERE m.workspace_id = %s AND m.model = %s AND m.state = 'indexed' AND m.dim = %s"
)
# By place in the chain: both tables were written in that order, so both are read in it.
_ALL: Final = (
    f"{_COLUMNS} LEFT JOIN journal_entries e ON e.workspace_id = m.workspace_id"
    f" AND e.seq = m.seq AND +e.id = m.entry_id{_OF_MODEL}"
)
# The plus signs keep SQLite from reading a whole workspace to find a few entries.
_AMONG_IDS: Final = (
    " WHERE +m.workspace_id = %s AND +m.model = %s AND +m.state = 'indexed'"
    " AND +m.dim = %s AND m.entry_id IN "
)
_OF_IDS: Final = f"{_COLUMNS} JOIN journal_entries e ON e.id = m.entry_id{_AMONG_IDS}"
_VECTORS: Final = (
    "SELECT wanted.key, m.vector FROM json_each(%s) AS wanted"
    " CROSS JOIN journal_embeddings m WHERE m.entry_id = wanted.value"
    " AND +m.workspace_id = %s AND +m.model = %s AND +m.state = 'indexed'"
    " AND +m.dim = %s AND length(m.vector) = 4 * m.dim"
)


def _microseconds(texts: Sequence[str]) -> NDArray[np.int64]:
    return np.array(texts, dtype="datetime64[us]").astype(np.int64)


def floats(blobs: Sequence[bytes], dim: int) -> Floats:
    """Return stored vectors as one array."""
    numbers = np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(blobs), dim)
    return numbers.astype(np.float32, copy=False)


def _decode(rows: Sequence[tuple[Any, ...]], dim: int) -> Batch:
    """Return rows as columns; a vector of the wrong length is left out."""
    good = [row for row in rows if len(row[7]) == 4 * dim]
    columns = list(zip(*good, strict=True)) if good else [()] * 8
    batch = Batch(
        ids=entry_rows.encode(columns[0]),
        crews=columns[1],
        agents=columns[2],
        types=columns[3],
        ts=_microseconds(columns[4]) // 1_000,
        recorded=_microseconds(columns[5]),
        importance=np.array(columns[6], dtype=np.float32),
        vectors=floats(columns[7], dim),
    )
    finite = np.isfinite(batch.vectors.sum(axis=1))
    return batch if finite.all() else batch.take(np.flatnonzero(finite))


def _marks(entry_ids: Sequence[str]) -> str:
    return f"({', '.join(['%s'] * len(entry_ids))})"


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
    misplaced: list[str] = []
    with connection.cursor() as cursor:
        cursor.execute(_ALL, [workspace_id, model, dim])
        while rows := cursor.fetchmany(CHUNK):
            # Made before the place was written beside the vector.
            unmatched = [row[0] for row in rows if row[3] is None]
            if unmatched:
                misplaced += unmatched
                rows = [row for row in rows if row[3] is not None]
            yield _decode(rows, dim)
    for start in range(0, len(misplaced), CHUNK):
        part = misplaced[start : start + CHUNK]
        yield read_ids(workspace_id, model, dim, part)


def read_ids(
    workspace_id: str, model: str, dim: int, entry_ids: Sequence[str]
) -> Batch:
    """Return the vectors of named entries, those that have one."""
    with connection.cursor() as cursor:
        cursor.execute(
            _OF_IDS + _marks(entry_ids), [workspace_id, model, dim, *entry_ids]
        )
        return _decode(cursor.fetchall(), dim)


def read_vectors(
    workspace_id: str, model: str, dim: int, ids: Ids
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the vectors of entries in order, and which of them have one."""
    ids_json = json.dumps([name.decode() for name in ids.tolist()])
    with connection.cursor() as cursor:
        cursor.execute(_VECTORS, [ids_json, workspace_id, model, dim])
        stored = cursor.fetchall()
    vectors = np.zeros((len(ids), dim), dtype=np.float32)
    has_vector = np.zeros(len(ids), dtype=np.bool_)
    places = [place for place, _ in stored]
    vectors[places] = floats([blob for _, blob in stored], dim)
    has_vector[places] = True
    return vectors, has_vector

"""The table of vectors on PostgreSQL: written with an embedding, and read as arrays.

A vector is kept once, in half precision: 11 bits of each number, which moves a cosine
of unit vectors by some 0.00001. What becomes of it afterwards, triggers on the
embeddings write: its importance, whether it is ranked, and its end.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

import numpy as np
from django.db import connection, transaction
from numpy.typing import NDArray

from episodic.embedders.base import Vectors
from episodic.vectors import pg_scope

CHUNK: Final = 2_000
# Two numbers of 16 bits before the vector's own: its length, and one that is unused.
_PREFIX: Final = 4
_COLUMNS: Final = (
    "workspace_id, entry_id, crew_id, agent_id, entry_type, ts, recorded_at, model,"
    " dim, is_ranked, importance, vec"
)
_NEW: Final = ", ".join(
    f"{name} = excluded.{name}" for name in _COLUMNS.split(", ")[2:]
)
_GIVEN: Final = "unnest(%s::text[], %s::text[]) AS given (entry_id, vec)"
_STORE: Final = (
    f"INSERT INTO journal_vectors ({_COLUMNS})"  # noqa: S608  (constants)
    " SELECT m.workspace_id, m.entry_id, m.crew_id, m.agent_id, e.entry_type, e.ts,"
    " e.recorded_at, m.model, m.dim, m.state = 'indexed', m.importance_score,"
    f" given.vec::halfvec FROM {_GIVEN}"
    " JOIN journal_embeddings m ON m.entry_id = given.entry_id"
    " JOIN journal_entries e ON e.workspace_id = m.workspace_id AND e.id = m.entry_id"
    f" ON CONFLICT (workspace_id, entry_id) DO UPDATE SET {_NEW}"
)
# Many come as the server stores them, which is quicker than as text.
_STAGE: Final = (
    "CREATE TEMPORARY TABLE given_vectors (entry_id text, vec halfvec) ON COMMIT DROP"
)
_COPY: Final = "COPY given_vectors FROM STDIN (FORMAT BINARY)"
_STORE_STAGED: Final = _STORE.replace(_GIVEN, "given_vectors AS given")
_ELSEWHERE: Final = (
    "SELECT entry_id, vector FROM journal_embeddings WHERE dim > 0"
    " AND length(vector) = 4 * dim LIMIT %s FOR UPDATE"
)
_MOVED: Final = "UPDATE journal_embeddings SET vector = '' WHERE entry_id = ANY(%s)"
_OF_IDS: Final = (
    "SELECT v.entry_id, halfvec_send(v.vec) FROM journal_vectors v"
    " WHERE v.workspace_id = %s AND v.entry_id = ANY(%s)"
)
_ALL: Final = (
    "SELECT v.entry_id, v.crew_id, v.agent_id, v.entry_type, v.ts, v.recorded_at,"
    " v.importance, halfvec_send(v.vec) FROM journal_vectors v"
    " WHERE v.workspace_id = %s AND v.model = %s AND v.dim = %s AND v.is_ranked"
)
PARTITIONS: Final = 32
_PARTITION: Final = (
    "SELECT n FROM generate_series(0, %s - 1) AS n WHERE"
    " satisfies_hash_partition('journal_vectors'::regclass, %s, n, %s::varchar)"
)


def is_used() -> bool:
    """Whether vectors are kept here, and not beside their embeddings."""
    return connection.vendor == "postgresql"


def store(pairs: Sequence[tuple[str, Vectors]]) -> None:
    """Keep the vectors of embeddings that were just written, in their transaction."""
    if not pairs:
        return
    entry_ids = [entry_id for entry_id, _ in pairs]
    texts = [pg_scope.literal(vector) for _, vector in pairs]
    with connection.cursor() as cursor:
        cursor.execute(_STORE, [entry_ids, texts])


def store_all(batches: Iterable[Sequence[tuple[str, Vectors]]]) -> None:
    """Keep the vectors of many embeddings; the caller has the transaction."""
    with connection.cursor() as cursor:
        cursor.execute(_STAGE)
        for pairs in batches:
            with cursor.copy(_COPY) as copy:
                for entry_id, vector in pairs:
                    prefix = struct.pack(">hh", len(vector), 0)
                    copy.write_row((entry_id, prefix + vector.astype(">f2").tobytes()))
        cursor.execute(_STORE_STAGED)


def adopt() -> int:
    """Move vectors that stand beside their embeddings here; return how many.

    They do after rows were copied from a database that keeps them there.
    """
    count = 0
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            rows = pg_scope.rows(cursor, _ELSEWHERE, [CHUNK])
            store([(key, np.frombuffer(bytes(blob), "<f4")) for key, blob in rows])
            cursor.execute(_MOVED, [[entry_id for entry_id, _ in rows]])
        count += len(rows)
        if len(rows) < CHUNK:
            return count


def floats(blobs: Sequence[bytes]) -> NDArray[np.float32]:
    """Return vectors as the server sends them, of one length each, as one array.

    Rounding made them a little longer or shorter than 1.
    """
    numbers = np.frombuffer(b"".join(blobs), dtype=">f2").reshape(len(blobs), -1)
    rows = numbers[:, _PREFIX // 2 :].astype(np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: NDArray[np.float32] = rows / np.maximum(lengths, np.float32(1e-6))
    return scaled


def vectors(workspace_id: str, entry_ids: Sequence[str]) -> dict[str, Vectors]:
    """Return the stored vectors of named entries of a workspace."""
    return {
        entry_id: floats([blob])[0]
        for entry_id, blob in _blobs(workspace_id, entry_ids)
    }


def disk_bytes(workspace_id: str, entry_ids: Sequence[str]) -> list[bytes]:
    """Return the numbers of vectors as they stand in the server's files."""
    return [
        np.frombuffer(blob, dtype=">f2", offset=_PREFIX).astype("<f2").tobytes()
        for _, blob in _blobs(workspace_id, entry_ids)
    ]


def _blobs(workspace_id: str, entry_ids: Sequence[str]) -> list[tuple[str, bytes]]:
    with connection.cursor() as cursor:
        stored = pg_scope.rows(cursor, _OF_IDS, [workspace_id, list(entry_ids)])
    return [(entry_id, bytes(blob)) for entry_id, blob in stored]


def batches(workspace_id: str, model: str, dim: int) -> Iterator[list[tuple[Any, ...]]]:
    """Yield everything that is ranked of a workspace; a vector is bytes, the last."""
    with connection.chunked_cursor() as cursor:
        cursor.execute(_ALL, [workspace_id, model, dim])
        while rows := list(islice(cursor, CHUNK)):
            yield rows


def partition(workspace_id: str) -> str:
    """Return the name of the partition that has a workspace's vectors."""
    with connection.cursor() as cursor:
        params = [PARTITIONS, PARTITIONS, workspace_id]
        [[number]] = pg_scope.rows(cursor, _PARTITION, params)
    return f"journal_vectors_{number:02}"


def tables(workspace_id: str) -> set[str]:
    """Return the tables that have a workspace's vectors and their counts."""
    return {partition(workspace_id), "journal_vector_counts"}

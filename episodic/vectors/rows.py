"""Reading stored vectors for the matrix, straight from SQLite.

Plain SQL instead of the ORM, and times as text: building a million date objects would
take longer than everything else. When everything is read, what is not the vector comes
from the index of words, which a hybrid question needs too and which has it as arrays.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from episodic.vectors.cosine import Floats
from episodic.vectors.matrix import Batch, Labels
from memory import fulltext
from memory.word_index import entry_rows
from memory.word_index.cache import indexes
from memory.word_index.columns import Codes
from memory.word_index.entry_rows import Ids

# Vectors of so many rows fit in the processor's cache while they are worked on.
CHUNK: Final = 1_024
IDS_AT_ONCE: Final = 500
_COLUMNS: Final = (
    "SELECT m.entry_id, m.crew_id, m.agent_id, e.entry_type, e.ts || '',"
    " e.recorded_at || '', m.importance_score, m.vector FROM journal_embeddings m"
)
# In the order in which they were written, which is nearly that of the chain.
_ALL: Final = (
    "SELECT m.entry_id, m.seq, m.importance_score, m.vector FROM journal_embeddings m"
    " WHERE m.workspace_id = %s AND m.model = %s AND m.state = 'indexed' AND m.dim = %s"
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
    return _finite(
        Batch(
            ids=entry_rows.encode(columns[0]),
            crews=Labels.of(columns[1]),
            agents=Labels.of(columns[2]),
            types=Labels.of(columns[3]),
            ts=_microseconds(columns[4]) // 1_000,
            recorded=_microseconds(columns[5]),
            importance=np.array(columns[6], dtype=np.float32),
            vectors=floats(columns[7], dim),
        )
    )


def _finite(batch: Batch) -> Batch:
    """Return the entries whose vectors are numbers."""
    finite = np.isfinite(batch.vectors.sum(axis=1))
    return batch if finite.all() else batch.take(np.flatnonzero(finite))


class _Places:
    """What the index of words knows of the entries of a workspace, by their place."""

    def __init__(self, workspace_id: str) -> None:
        self._view = indexes.view(workspace_id)
        self._first, _ = fulltext.docids(workspace_id)
        self._names: dict[Codes, list[str]] = {}

    def batch(
        self, rows: Sequence[tuple[Any, ...]], dim: int
    ) -> tuple[Batch, Sequence[str]]:
        """Return rows of ``_ALL`` as columns, and the ids of entries not known here."""
        rows = [row for row in rows if len(row[3]) == 4 * dim]
        entry_ids, seqs, importance, blobs = (
            zip(*rows, strict=True) if rows else [()] * 4
        )
        ids, view = entry_rows.encode(entry_ids), self._view
        at = view.rows(self._first + np.array(seqs, dtype=np.int64))
        is_known = (at >= 0) & (view.columns.ids[at] == ids)
        places = np.flatnonzero(is_known)
        at, columns, vectors = at[places], view.columns, floats(blobs, dim)
        batch = Batch(
            ids=ids[places],
            crews=self._labels(view.crews, columns.crew[at]),
            agents=self._labels(view.agents, columns.agent[at]),
            types=self._labels(view.types, columns.type[at]),
            ts=columns.ts[at] // 1_000,
            recorded=columns.recorded[at],
            importance=np.array(importance, dtype=np.float32)[places],
            vectors=vectors if len(places) == len(ids) else vectors[places],
        )
        return _finite(batch), [entry_ids[i] for i in np.flatnonzero(~is_known)]

    def _labels(self, strings: Codes, codes: NDArray[np.int32]) -> Labels:
        """Return strings that the index has as numbers, read a moment ago."""
        names = self._names.get(strings, [])
        if len(codes) and codes.max() >= len(names):
            # There may be more of them by now, as entries change meanwhile.
            names = self._names[strings] = list(strings.names().values())
        return Labels(names, codes)


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
    """Yield all vectors of a workspace and model, a few at a time."""
    places, unknown = _Places(workspace_id), list[str]()
    with connection.cursor() as cursor:
        cursor.execute(_ALL, [workspace_id, model, dim])
        while rows := cursor.fetchmany(CHUNK):
            batch, unknown_ids = places.batch(rows, dim)
            unknown += unknown_ids
            yield batch
    # Written meanwhile, or before the place was kept beside the vector.
    for start in range(0, len(unknown), IDS_AT_ONCE):
        part = unknown[start : start + IDS_AT_ONCE]
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

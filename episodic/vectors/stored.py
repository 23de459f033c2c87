"""Stored vectors by entry, wherever the database keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from episodic.embedders.base import Vectors
from episodic.models import Embedding
from episodic.vectors import pg_store

IDS_AT_ONCE: Final = 500


def vectors(workspace_id: str, entry_ids: Sequence[str]) -> dict[str, Vectors]:
    """Return the vectors of those entries of a workspace that have one, by id."""
    by_id: dict[str, Vectors] = {}
    for start in range(0, len(entry_ids), IDS_AT_ONCE):
        part = entry_ids[start : start + IDS_AT_ONCE]
        if pg_store.is_used():
            by_id |= pg_store.vectors(workspace_id, part)
            continue
        rows = Embedding.objects.filter(
            workspace_id=workspace_id, pk__in=part, dim__gt=0
        )
        for entry_id, blob in rows.values_list("entry_id", "vector"):
            by_id[entry_id] = np.frombuffer(bytes(blob), dtype="<f4")
    return by_id


def first_bytes(workspace_id: str, entry_ids: Sequence[str], count: int) -> list[bytes]:
    """Return how the vectors of entries begin in the database's files."""
    if pg_store.is_used():
        stored = pg_store.disk_bytes(workspace_id, entry_ids)
    else:
        stored = [v.tobytes() for v in vectors(workspace_id, entry_ids).values()]
    return [numbers[:count] for numbers in stored]


def tables(workspace_id: str) -> set[str]:
    """Return the tables that have a workspace's vectors, but for their embeddings'."""
    return pg_store.tables(workspace_id) if pg_store.is_used() else set()

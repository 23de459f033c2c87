"""Vectors put straight into PostgreSQL's table, many at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.db import connection
from django.utils import timezone
from numpy.typing import NDArray

from episodic.vectors import pg_scope
from episodic.vectors.base import VectorScope

DIM = 384
MODEL = "test-384"
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Place:
    """Where rows are put: a workspace, and what they are of."""

    workspace_id: str = "ws_a"
    crew_id: str | None = None
    agent_id: str | None = None
    entry_type: str = "memory.recorded"
    model: str = MODEL


def unit_vectors(count: int, seed: int = 7, *, topics: int = 20) -> Floats:
    """Return unit vectors around some directions, all with a common part."""
    rng = np.random.default_rng(seed)
    directions = rng.standard_normal((topics, DIM)) + 0.5
    noise = rng.standard_normal((count, DIM))
    rows = directions[rng.integers(0, topics, count)] + noise
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32)


def put(
    vectors: Floats,
    place: Place,
    *,
    prefix: str = "j_",
    importances: Sequence[float] = (),
    is_ranked: bool = True,
) -> list[str]:
    """Put vectors into the table in one statement; return the ids of their rows."""
    ids = [f"{prefix}{n:06}" for n in range(len(vectors))]
    weights = list(importances) or [0.5] * len(ids)
    now = timezone.now()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO journal_vectors (workspace_id, entry_id, crew_id, agent_id,"
            " entry_type, ts, recorded_at, model, dim, is_ranked, importance, vec)"
            " SELECT %s, id, %s, %s, %s, %s, %s, %s, %s, %s, weight, vec::halfvec"
            " FROM unnest(%s::text[], %s::float8[], %s::text[]) AS t (id, weight, vec)",
            [
                *(place.workspace_id, place.crew_id, place.agent_id, place.entry_type),
                *(now, now, place.model, vectors.shape[1], is_ranked),
                *(ids, weights, [pg_scope.literal(vector) for vector in vectors]),
            ],
        )
    return ids


def scope(place: Place, **fields: object) -> VectorScope:
    """Return the scope of a place's workspace, narrowed by fields."""
    names = {"workspace_id": place.workspace_id, "model": place.model}
    return VectorScope(**(names | fields))  # type: ignore[arg-type]

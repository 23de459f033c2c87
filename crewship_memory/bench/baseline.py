"""The peer: recall as the original system does it, in pure Python.

For each question load every vector from SQLite, decode it, take cosines in Python.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from django.db import connection


def _cosine(a: Sequence[float], b: Sequence[float]) -> float:
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    norms = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(y * y for y in b))
    return dot / norms if norms else 0.0


def recall(workspace_id: str, query: Sequence[float], k: int = 5) -> list[str]:
    """Return the nearest entries of a workspace by cosine × importance."""
    scored: list[tuple[float, str]] = []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT entry_id, vector, dim, importance_score FROM journal_embeddings"
            " WHERE workspace_id = %s AND state = 'indexed'",
            [workspace_id],
        )
        for entry_id, blob, dim, importance in cursor.fetchall():
            vector = struct.unpack(f"<{dim}f", blob)
            scored.append((_cosine(query, vector) * importance, entry_id))
    scored.sort(reverse=True)
    return [entry_id for _, entry_id in scored[:k]]

"""The mean of a workspace's vectors on PostgreSQL, for centred cosines.

Kept in the process and taken again when the workspace has a tenth more vectors or a
tenth fewer; of a large workspace it is the mean of some of them. Entry ids are random,
so the first by id are a fair choice.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, Final

import numpy as np
from django.db import connection

from episodic.embedders.base import Vectors
from episodic.vectors import centre
from episodic.vectors.base import VectorScope

SAMPLED: Final = 20_000
MAX_MEANS: Final = 1_000
GROWTH: Final = 0.1
_WHERE: Final = (
    " FROM journal_embeddings m WHERE m.workspace_id = %s AND m.model = %s"
    " AND m.state = 'indexed' AND m.dim = %s AND m.vec IS NOT NULL"
)
_COUNT: Final = f"SELECT count(*){_WHERE}"
_MEAN: Final = (
    "SELECT avg(vec)::text FROM"  # noqa: S608
    f" (SELECT m.vec{_WHERE} ORDER BY m.entry_id LIMIT %s) AS sampled"
)
_lock = threading.Lock()
_means: OrderedDict[tuple[str, str, str, int], tuple[int, Vectors | None]] = (
    OrderedDict()
)


def literal(vector: Vectors) -> str:
    """Return a vector in pgvector's text form."""
    return "[" + ",".join(f"{value:.9g}" for value in vector.tolist()) + "]"


def of(scope: VectorScope, dim: int, *, is_checked: bool = False) -> Vectors | None:
    """Return the mean of a workspace's vectors; None while it has too few.

    The one in memory is taken as it is unless it is to be checked.
    """
    database = str(connection.settings_dict["NAME"])
    key = (database, scope.workspace_id, scope.model, dim)
    with _lock:
        cached = _means.get(key)
    if cached is not None and not is_checked:
        return cached[1]
    params: list[Any] = [scope.workspace_id, scope.model, dim]
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, params)
        count = int(cursor.fetchone()[0])
        if cached is not None and abs(count - cached[0]) <= GROWTH * cached[0]:
            return cached[1]
        mean = None
        if count >= centre.FEWEST:
            cursor.execute(_MEAN, [*params, SAMPLED])
            text = cursor.fetchone()[0]
            mean = np.array(text[1:-1].split(","), dtype=np.float32)
    with _lock:
        _means[key] = count, mean
        _means.move_to_end(key)
        if len(_means) > MAX_MEANS:
            _means.popitem(last=False)
    return mean


def clear() -> None:
    """Forget the means."""
    with _lock:
        _means.clear()

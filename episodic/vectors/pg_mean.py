"""The mean of a workspace's vectors on PostgreSQL, for centred cosines.

Kept in the process and taken again when the workspace has a tenth more vectors or a
tenth fewer; of a large workspace it is the mean of some of them. Entry ids are random,
so the first by id are a fair choice.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

import numpy as np
from django.db.backends.utils import CursorWrapper

from episodic.embedders.base import Vectors
from episodic.vectors import centre, pg_counts, pg_scope
from episodic.vectors.base import VectorScope

SAMPLED: Final = 20_000
MAX_MEANS: Final = 1_000
GROWTH: Final = 0.1
_lock = threading.Lock()
_means: OrderedDict[tuple[str, str, str, int], tuple[int, Vectors | None]] = (
    OrderedDict()
)


def of(
    cursor: CursorWrapper, scope: VectorScope, dim: int, count: int | None = None
) -> Vectors | None:
    """Return the mean of a workspace's vectors; None while it has too few.

    ``count`` is how many there are; without it the mean in memory is taken as it is.
    """
    database = str(cursor.db.settings_dict["NAME"])
    key = (database, scope.workspace_id, scope.model, dim)
    with _lock:
        cached = _means.get(key)
    if cached is not None and count is None:
        return cached[1]
    if count is None:
        count = pg_counts.of(cursor, scope, dim).workspace
    if cached is not None and abs(count - cached[0]) <= GROWTH * cached[0]:
        return cached[1]
    mean = _mean(cursor, scope, dim) if count >= centre.FEWEST else None
    with _lock:
        _means[key] = count, mean
        _means.move_to_end(key)
        if len(_means) > MAX_MEANS:
            _means.popitem(last=False)
    return mean


def _mean(cursor: CursorWrapper, scope: VectorScope, dim: int) -> Vectors:
    text, params = pg_scope.workspace(scope, dim)
    sampled = (
        f"SELECT v.vec FROM journal_vectors v WHERE {text} AND v.is_ranked"  # noqa: S608
        " ORDER BY v.entry_id LIMIT %s"
    )
    sql = f"SELECT avg(vec::vector)::text FROM ({sampled}) AS sampled"  # noqa: S608
    [[mean]] = pg_scope.rows(cursor, sql, [*params, SAMPLED])
    return np.array(mean[1:-1].split(","), dtype=np.float32)


def clear() -> None:
    """Forget the means."""
    with _lock:
        _means.clear()

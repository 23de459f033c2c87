"""The rows of a matrix that a scope may see.

What a crew or an agent owns is found once and remembered, and only rows that came since
are looked at again: a question of one agent among many reads its own rows alone.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from episodic.vectors.base import VectorScope
from episodic.vectors.cosine import Rows
from episodic.vectors.matrix import NOBODY, Columns, Matrix, Snapshot
from memory.rules.entries import RULE_TYPE

# A longer list is found again each time: it would take as much memory as its column.
REMEMBERED_SHARE: Final = 4
_EPOCH_UNITS: Final = {"ts": 1_000, "recorded": 1_000_000}


def _moment(moment: datetime, column: str) -> int:
    return round(moment.timestamp() * _EPOCH_UNITS[column])


def _owned(columns: Columns, size: int, column: str, code: int) -> Rows:
    """Return the rows among the first ``size`` whose crew or agent is a number."""
    key, codes = (column, code), getattr(columns, column)
    rows, upto = columns.owned.get(key, (np.zeros(0, dtype=np.int32), 0))
    if upto > size:
        rows = rows[: int(np.searchsorted(rows, size))]
    elif upto < size:
        newer = np.flatnonzero(codes[upto:size] == code).astype(np.int32) + upto
        rows = np.concatenate([rows, newer.astype(np.int32)])
        if len(rows) * REMEMBERED_SHARE <= size:
            columns.owned[key] = rows, size
        else:
            columns.owned.pop(key, None)
    wide: Rows = rows.astype(np.int64)
    return wide


def _rules(matrix: Matrix, view: Snapshot, crew_id: str) -> Rows:
    columns = view.columns
    rows = _owned(columns, view.size, "crew", matrix.crews.get(crew_id))
    is_rule = columns.type[rows] == matrix.types.get(RULE_TYPE)
    rules: Rows = rows[is_rule & (columns.agent[rows] == NOBODY)]
    return rules


def _of_owners(matrix: Matrix, view: Snapshot, scope: VectorScope) -> Rows | None:
    """Return the rows of the crew, the agent and the crew's rules; None for all."""
    columns, size = view.columns, view.size
    parts = []
    if scope.crew_id is not None:
        code = matrix.crews.get(scope.crew_id)
        parts.append(_owned(columns, size, "crew", code))
    if scope.agent_id is not None:
        code = matrix.agents.get(scope.agent_id)
        parts.append(_owned(columns, size, "agent", code))
    if parts and scope.rules_crew_id is not None:
        parts.append(_rules(matrix, view, scope.rules_crew_id))
    if len(parts) < 2:
        return parts[0] if parts else None
    mask = np.zeros(size, dtype=np.bool_)
    for rows in parts:
        mask[rows] = True
    return np.flatnonzero(mask)


def _filters(
    matrix: Matrix, view: Snapshot, scope: VectorScope, rows: Rows | slice
) -> NDArray[np.bool_]:
    """Return which of the rows are alive and pass the scope's filters."""
    columns = view.columns
    mask = columns.alive[rows].copy()
    if scope.only_crewless:
        mask &= columns.crew[rows] == NOBODY
    if scope.entry_types:
        codes = [matrix.types.get(name) for name in scope.entry_types]
        mask &= np.isin(columns.type[rows], codes)
    if scope.since is not None:
        mask &= columns.ts[rows] >= _moment(scope.since, "ts")
    if scope.until is not None:
        mask &= columns.ts[rows] <= _moment(scope.until, "ts")
    if scope.recorded_until is not None:
        mask &= columns.recorded[rows] <= _moment(scope.recorded_until, "recorded")
    return mask


def in_scope(matrix: Matrix, view: Snapshot, scope: VectorScope) -> Rows | None:
    """Return the rows a scope may see; None stands for all of them."""
    rows = _of_owners(matrix, view, scope)
    if rows is None:
        mask = _filters(matrix, view, scope, slice(view.size))
        return None if mask.all() and view.size else np.flatnonzero(mask)
    mask = _filters(matrix, view, scope, rows)
    return rows if mask.all() else rows[mask]

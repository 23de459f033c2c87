"""The rows of a matrix that a scope may see."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from episodic.vectors.base import VectorScope
from episodic.vectors.cosine import Rows
from episodic.vectors.matrix import Matrix, Snapshot
from memory.rules.entries import RULE_TYPE
from memory.word_index import owners
from memory.word_index.owners import NOBODY, Part

_EPOCH_UNITS: Final = {"ts": 1_000, "recorded": 1_000_000}


def _moment(moment: datetime, column: str) -> int:
    return round(moment.timestamp() * _EPOCH_UNITS[column])


def _of_owners(matrix: Matrix, view: Snapshot, scope: VectorScope) -> Part | None:
    """Return the rows of the crew, the agent and the crew's rules; None for all."""
    columns, size, owned = view.columns, view.size, view.columns.owned
    parts = []
    if scope.crew_id is not None:
        crew = matrix.crews.get(scope.crew_id)
        parts.append(owned.of(columns, size, "crew", crew))
    if scope.agent_id is not None:
        agent = matrix.agents.get(scope.agent_id)
        parts.append(owned.of(columns, size, "agent", agent))
    if parts and scope.rules_crew_id is not None:
        crew = matrix.crews.get(scope.rules_crew_id)
        rule = matrix.types.get(RULE_TYPE)
        parts.append(owned.rules(columns, size, crew, rule))
    return owners.united(parts, size) if parts else None


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
    part = _of_owners(matrix, view, scope)
    if part is not None and part.rows is not None:
        mask = _filters(matrix, view, scope, part.rows)
        return part.rows if mask.all() else part.rows[mask]
    mask = _filters(matrix, view, scope, slice(view.size))
    if part is not None and part.mask is not None:
        mask &= part.mask
    return None if mask.all() and view.size else np.flatnonzero(mask)

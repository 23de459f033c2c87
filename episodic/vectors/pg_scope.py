"""A scope in SQL: conditions over ``v``, the table of vectors or that of their counts.

What is compared is what the index has: vectors of one model and length that are in use.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from django.db.backends.utils import CursorWrapper

from episodic.embedders.base import Vectors
from episodic.vectors.base import VectorScope
from memory.rules.entries import RULE_TYPE

# Dimensions with an index; vectors of another length are compared one by one.
INDEXED_DIMS: Final = (384, 768, 1024)
Sql = tuple[str, list[Any]]
Row = tuple[Any, ...]


def literal(vector: Vectors) -> str:
    """Return a vector in pgvector's text form."""
    return _form(len(vector)) % tuple(vector.tolist())


@lru_cache(maxsize=16)
def _form(dim: int) -> str:
    """Return the form of a vector: one formatting takes half the time of one each."""
    return f"[{','.join(['%.9g'] * dim)}]"


def workspace(scope: VectorScope, dim: int) -> Sql:
    """Return the condition of a workspace's vectors of the scope's model."""
    # The number is part of the text, or the partial indexes would not be used.
    return f"v.workspace_id = %s AND v.model = %s AND v.dim = {dim}", [
        scope.workspace_id,
        scope.model,
    ]


def owned(scope: VectorScope, dim: int) -> Sql:
    """Return the condition of a scope but for its times, which a count has too."""
    text, params = workspace(scope, dim)
    where = [text]
    owners = {"v.crew_id": scope.crew_id, "v.agent_id": scope.agent_id}
    owner_ids = {column: value for column, value in owners.items() if value is not None}
    if owner_ids:
        alternatives = [f"{column} = %s" for column in owner_ids]
        params += list(owner_ids.values())
        if scope.rules_crew_id is not None:
            alternatives.append(
                "(v.crew_id = %s AND v.agent_id IS NULL AND v.entry_type = %s)"
            )
            params += [scope.rules_crew_id, RULE_TYPE]
        where.append(f"({' OR '.join(alternatives)})")
    if scope.only_crewless:
        where.append("v.crew_id IS NULL")
    if scope.entry_types:
        where.append("v.entry_type = ANY(%s)")
        params.append(list(scope.entry_types))
    return " AND ".join(where), params


def has_moments(scope: VectorScope) -> bool:
    """Whether a scope has times, which no stored count knows."""
    return any((scope.since, scope.until, scope.recorded_until))


def comparable(scope: VectorScope, dim: int) -> Sql:
    """Return the condition of the vectors that a scope compares."""
    text, params = owned(scope, dim)
    where = [text, "v.is_ranked"]
    moments = {
        "v.ts >= %s": scope.since,
        "v.ts <= %s": scope.until,
        "v.recorded_at <= %s": scope.recorded_until,
    }
    for condition, moment in moments.items():
        if moment is not None:
            where.append(condition)
            params.append(moment)
    return " AND ".join(where), params


def rows(cursor: CursorWrapper, sql: str, params: list[Any]) -> list[Row]:
    """Return the rows of a query."""
    cursor.execute(sql, params)
    return list(cursor.fetchall())

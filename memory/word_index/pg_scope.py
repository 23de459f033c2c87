"""A scope as a condition in SQL: over the entries, or over the rows of their words."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from memory.fulltext import WordScope
from memory.rules.entries import RULE_TYPE
from memory.word_index.sqlite import microseconds

Condition = tuple[str, list[Any]]


def of_entries(scope: WordScope) -> Condition:
    """Return the condition over ``e``, the entries."""
    where, params = _of_owners(scope, "e")
    where += [
        f"e.{name} IS NULL" for name in ("retired_at", "restricted_at", "erased_at")
    ]
    if scope.embeddable_only:
        where.append("e.embeddable")
    for condition, moment in _moments(scope, "e", "recorded_at"):
        where.append(condition)
        params.append(moment)
    return " AND ".join(where), params


def of_words(scope: WordScope) -> Condition:
    """Return the condition over ``w``, the rows of words."""
    where, params = _of_owners(scope, "w")
    where.append("w.usable")
    if scope.embeddable_only:
        where.append("w.embeddable")
    for condition, moment in _moments(scope, "w", "recorded"):
        where.append(condition)
        params.append(microseconds(moment))
    return " AND ".join(where), params


def _of_owners(scope: WordScope, table: str) -> tuple[list[str], list[Any]]:
    """Return the conditions on workspace, crew, agent and type, which both have."""
    where, params = [f"{table}.workspace_id = %s"], list[Any]([scope.workspace_id])
    alternatives = []
    for column, owner_id in (("crew_id", scope.crew_id), ("agent_id", scope.agent_id)):
        if owner_id is not None:
            alternatives.append(f"{table}.{column} = %s")
            params.append(owner_id)
    if alternatives:
        if scope.rules_crew_id is not None:
            alternatives.append(
                f"({table}.crew_id = %s AND {table}.agent_id IS NULL"
                f" AND {table}.entry_type = %s)"
            )
            params += [scope.rules_crew_id, RULE_TYPE]
        where.append(f"({' OR '.join(alternatives)})")
    if scope.entry_types:
        where.append(f"{table}.entry_type = ANY(%s)")
        params.append(list(scope.entry_types))
    return where, params


def _moments(scope: WordScope, table: str, recorded: str) -> list[tuple[str, datetime]]:
    """Return the conditions on times that the scope has."""
    bounds = (
        (f"{table}.ts >= %s", scope.since),
        (f"{table}.ts <= %s", scope.until),
        (f"{table}.{recorded} <= %s", scope.recorded_until),
    )
    return [(text, moment) for text, moment in bounds if moment is not None]

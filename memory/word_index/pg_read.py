"""The one place where the word ranking reads PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from memory import recall_database


def fetch(sql: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return the rows of a query, from the database that this recall reads."""
    with recall_database.connection().cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())


def array(numbers: Iterable[int]) -> str:
    """Return numbers as PostgreSQL writes an array: quicker than adapting each."""
    return "{" + ",".join(map(str, numbers)) + "}"

"""Restore SQLite's triggers after every migration.

Django changes a SQLite table by creating a new one and dropping the old one, which
silently drops its triggers. What the triggers maintain (the word indexes, the log of
changed embeddings) would go stale.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from django.db import connections

_CREATE = re.compile(r"^\s*CREATE TRIGGER (\w+)", re.IGNORECASE)
_TABLES = re.compile(r"\b(?:ON|INSERT INTO|UPDATE|DELETE FROM) (\w+)")


def restore(statements: Sequence[str], using: str = "default") -> list[str]:
    """Create the triggers that are missing; return their names.

    ``statements`` are CREATE statements; those that create no trigger are skipped,
    and so is a trigger on or for a table that does not exist (yet, or any more: a
    migration may have been reversed).
    """
    connection = connections[using]
    if connection.vendor != "sqlite":
        return []
    restored = []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('trigger','table')"
        )
        existing = {row[0] for row in cursor.fetchall()}
        for statement in statements:
            match = _CREATE.match(statement)
            if match is None or match[1] in existing:
                continue
            # The tables that the trigger is on and writes to.
            if set(_TABLES.findall(statement)) - {"OF"} <= existing:
                cursor.execute(statement)
                restored.append(match[1])
    return restored


def keeper(statements: Sequence[str]) -> Any:
    """Return a post_migrate receiver that restores these triggers."""

    def restore_missing(*, using: str = "default", **_: Any) -> None:
        restore(statements, using)

    return restore_missing

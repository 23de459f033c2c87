"""The mark of a database into which a backup is being restored.

It is a table of its own, made before anything else and dropped at the end, because the
tables of a backup may have an older schema. While it is there only the process that
restores works with the database: nothing is served, written or run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

from memory.rules import errors
from memory.rules.translation import gettext_noop

TABLE: Final = "unfinished_restore"
REASON: Final = gettext_noop(
    "A backup is being restored into this database, or a restore was interrupted: run"
    " manage.py restore again. Nothing is served until it has ended."
)
_EXISTS: Final = {
    "sqlite": "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = %s",
    "postgresql": "SELECT 1 WHERE to_regclass(%s) IS NOT NULL",
}


class RestoreUnfinished(errors.Unavailable):
    """The database is not complete."""

    code = "restore_unfinished"
    sentence = REASON


class _State:
    """Whether this process is the one that restores."""

    is_ours = False


@contextmanager
def ours() -> Iterator[None]:
    """Let this process work with the database that it restores."""
    _State.is_ours = True
    try:
        yield
    finally:
        _State.is_ours = False


def exists(database: BaseDatabaseWrapper | None = None) -> bool:
    """Whether a database carries the mark."""
    database = database or connection
    with database.cursor() as cursor:
        cursor.execute(_EXISTS[database.vendor], [TABLE])
        return cursor.fetchone() is not None


def problem() -> str | None:
    """Return why nothing may be served, None without a mark and for who restores."""
    return REASON if not _State.is_ours and exists() else None


def read(database: BaseDatabaseWrapper | None = None) -> dict[str, Any] | None:
    """Return what a restore noted, None without a mark."""
    database = database or connection
    if not exists(database):
        return None
    with database.cursor() as cursor:
        cursor.execute(f"SELECT note FROM {TABLE}")  # noqa: S608  (ours)
        row = cursor.fetchone()
    return dict(json.loads(row[0])) if row else {}


def write(note: dict[str, Any], database: BaseDatabaseWrapper | None = None) -> None:
    """Set the mark and what it notes."""
    database = database or connection
    with database.cursor() as cursor:
        cursor.execute(f"CREATE TABLE IF NOT EXISTS {TABLE} (note text NOT NULL)")
        cursor.execute(f"DELETE FROM {TABLE}")  # noqa: S608
        cursor.execute(
            f"INSERT INTO {TABLE} (note) VALUES (%s)",  # noqa: S608
            [json.dumps(note)],
        )


def remove() -> None:
    """Drop the mark: the database is complete."""
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")

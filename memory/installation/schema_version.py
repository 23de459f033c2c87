"""Whether this code knows all migrations that the database has.

A database that a newer version has migrated is read but never written: columns and
rules that this code does not know would be broken silently.
"""

from __future__ import annotations

import threading
import time
from functools import cache
from typing import Final

from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from memory.rules import errors

APPS: Final = frozenset({"memory", "episodic", "gdpr"})
CHECK_SECONDS: Final = 10.0


class Newer(errors.Outage):
    """The database was migrated by a newer version than this one."""

    code = "schema_newer"
    sentence = (
        "The database was migrated by a newer version: this one does not know"
        " {migrations}. Start the newer version, or restore the backup that was made"
        " before it was installed. Until then nothing is written."
    )


@cache
def _code_migrations() -> frozenset[tuple[str, str]]:
    """Return the migrations of this code, and those that they replace."""
    migrations = MigrationLoader(None, ignore_no_migrations=True).disk_migrations
    replaced = [
        name for migration in migrations.values() for name in migration.replaces
    ]
    return frozenset([*migrations, *replaced])


def unknown() -> list[str]:
    """Return the applied migrations of these apps that this code does not have."""
    applied = MigrationRecorder(connection).applied_migrations()
    return sorted(
        f"{app}.{name}"
        for app, name in applied
        if app in APPS and (app, name) not in _code_migrations()
    )


def refusal(names: list[str]) -> Newer:
    """Return the error that names the migrations, the first three of them."""
    suffix = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return Newer(migrations=", ".join(names[:3]) + suffix)


class Guard:
    """Checks at most every ten seconds: a newer version may migrate meanwhile."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = 0.0
        self._unknown: list[str] = []

    def __call__(self) -> None:
        """Raise Newer where the database is newer than this code."""
        if time.monotonic() >= self._next:
            names = unknown()
            with self._lock:
                self._unknown = names
                self._next = time.monotonic() + CHECK_SECONDS
        if self._unknown:
            raise refusal(self._unknown)

    def look_again_at(self, moment: float) -> None:
        """Forget the last check; check again at a moment of the monotonic clock."""
        self._unknown, self._next = [], moment


# Called before every append to the journal, and so before every write.
guard = Guard()

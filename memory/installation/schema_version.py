"""Whether this code knows all migrations that the database has, and can add to them.

A database that a newer version has migrated is read but never written: columns and
rules that this code does not know would be broken silently. A database that stopped
between migrations which this code replaces by one cannot be migrated by it.
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
def _code_migrations() -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Return the migrations of this code with those that each replaces."""
    migrations = MigrationLoader(None, ignore_no_migrations=True).disk_migrations
    return {name: list(step.replaces) for name, step in migrations.items()}


def unknown() -> list[str]:
    """Return the applied migrations of these apps that this code does not have."""
    applied = MigrationRecorder(connection).applied_migrations()
    known_steps = set(_code_migrations()).union(*_code_migrations().values())
    return sorted(
        f"{app}.{name}" for app, name in set(applied) - known_steps if app in APPS
    )


def missing_steps() -> list[str]:
    """Return the migrations that only an earlier version can still apply.

    They are those that one migration of this code replaces and that it has no more,
    where the database has some of the replaced ones but not all.
    """
    applied = MigrationRecorder(connection).applied_migrations()
    code, step_names = _code_migrations(), []
    for name, replaced in code.items():
        if name not in applied and any(step in applied for step in replaced):
            rest = set(replaced) - set(applied) - set(code)
            step_names += [".".join(step) for step in rest]
    return sorted(step_names)


def upgrade_refusal(steps: list[str]) -> str:
    """Return the sentence that says what an earlier version has to do first."""
    return (
        f"The database is too old for this version: it lacks {_first_three(steps)},"
        " which this version no longer has. Start the version that was installed"
        " before, let it migrate, then start this one."
    )


def refusal(names: list[str]) -> Newer:
    """Return the error that names the migrations, the first three of them."""
    return Newer(migrations=_first_three(names))


def _first_three(names: list[str]) -> str:
    suffix = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + suffix


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

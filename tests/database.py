"""The test database: migrated once per run, and put back in one go.

The first process of a run migrates and keeps a template; the others start from it, and
so do tests that start an installation of their own. After a test that commits, the
rows of the standing world come back, where Django would empty the tables.
"""

from __future__ import annotations

import abc
import contextlib
import fcntl
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from django.core.management.commands import flush
from django.db import connection, connections, transaction
from psycopg import sql

from tests.project.source import ROOT

Restore = Callable[[], None]
Result = TypeVar("Result")
# A quarter of a second each, while somebody else is writing.
ATTEMPTS = 80


def is_postgres() -> bool:
    """Whether the tests run on PostgreSQL."""
    return os.environ.get("DATABASE_URL", "").startswith("postgres")


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one process of the run in at a time."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


# ── The template ─────────────────────────────────────────────────────────────
class Template(abc.ABC):
    """A migrated database without a row of ours, which others are copied from."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._turn = contextlib.ExitStack()

    @contextlib.contextmanager
    def turn(self, config: dict[str, Any]) -> Iterator[None]:
        """Use the template; who comes first has to make it, and others wait."""
        with self._turn:
            self._turn.enter_context(locked(self._folder / "template.lock"))
            if self.is_made():
                self.use(config)
                self._turn.close()
            yield

    def make(self) -> None:
        """Keep the test database as the template, unless there is one."""
        if not self.is_made():
            self._copy()
        self._turn.close()

    @abc.abstractmethod
    def is_made(self) -> bool:
        """Whether there is one."""

    @abc.abstractmethod
    def use(self, config: dict[str, Any]) -> None:
        """Let Django make the test database from it."""

    @abc.abstractmethod
    def _copy(self) -> None: ...

    @abc.abstractmethod
    def drop(self) -> None:
        """Remove it; who comes later makes another."""


class SQLiteTemplate(Template):
    """A file beside those of the run."""

    @property
    def path(self) -> Path:
        return self._folder / "template.sqlite3"

    def is_made(self) -> bool:
        return self.path.exists()

    def use(self, config: dict[str, Any]) -> None:
        copy_sqlite(self.path, Path(config["TEST"]["NAME"]))

    def _copy(self) -> None:
        copy_sqlite(Path(connection.settings_dict["NAME"]), self.path)

    def drop(self) -> None:
        """Leave it: it goes with the folder."""


class PostgresTemplate(Template):
    """A database beside those of the run."""

    def __init__(self, folder: Path, run_id: str) -> None:
        super().__init__(folder)
        self._name = f"template_{run_id}"

    def is_made(self) -> bool:
        names = self._on_server("select datname from pg_database").fetchall()
        return (self._name,) in names

    def use(self, config: dict[str, Any]) -> None:
        config["TEST"]["TEMPLATE"] = self._name

    def _copy(self) -> None:
        source = str(connection.settings_dict["NAME"])
        self._on_server("create database {} template {}", self._name, source)

    def drop(self) -> None:
        self._on_server("drop database if exists {}", self._name)

    def _on_server(self, statement: str, *names: str) -> Any:
        """Run a statement while this process visits no database."""
        connection.close()
        if hasattr(connection, "close_pool"):
            connection.close_pool()
        config = connection.settings_dict
        parts = {"host": "HOST", "port": "PORT", "user": "USER", "password": "PASSWORD"}
        login = {key: config[of] for key, of in parts.items() if config[of]}
        with psycopg.connect(**login, dbname="postgres", autocommit=True) as server:
            return server.execute(
                sql.SQL(statement).format(*[sql.Identifier(name) for name in names])
            )


def copy_sqlite(source: Path, target: Path) -> None:
    """Copy a database file with its log; the target appears whole or not at all."""
    unfinished = target.with_suffix(".unfinished")
    with (
        contextlib.closing(sqlite3.connect(source)) as original,
        contextlib.closing(sqlite3.connect(unfinished)) as copy,
    ):
        original.backup(copy)
    unfinished.chmod(0o600)
    unfinished.rename(target)


def migrated_sqlite(folder: Path) -> Path:
    """Return the file of the run's template, also when the tests are on PostgreSQL."""
    path = folder / "template.sqlite3"
    with locked(folder / "template.lock"):
        if not path.exists():
            made = folder / "made.sqlite3"
            environment = {
                **os.environ,
                "CREWSHIP_DATA_DIR": str(folder / "made"),
                "DATABASE_URL": f"sqlite:///{made}",
            }
            command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
            subprocess.run(command, cwd=ROOT, env=environment, check=True)
            copy_sqlite(made, path)
    return path


# ── The rows that every test starts from ─────────────────────────────────────
def snapshot() -> Restore:
    """Remember every committed row; return what puts exactly these rows back."""
    return _sqlite_snapshot() if connection.vendor == "sqlite" else _postgres_snapshot()


def _sqlite_snapshot() -> Restore:
    kept = sqlite3.connect(":memory:", check_same_thread=False)
    connection.ensure_connection()
    connection.connection.backup(kept)

    def restore() -> None:
        attempts = iter(range(ATTEMPTS))

        def progress(status: int, _remaining: int, _total: int) -> None:
            if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                assert next(attempts, None) is not None, "the database stays locked"

        connection.ensure_connection()
        kept.backup(connection.connection, progress=progress)

    return restore


def _postgres_snapshot() -> Restore:
    with connection.cursor() as cursor:
        # A partitioned table has no rows of its own.
        cursor.execute(
            "select relname from pg_class where relkind = 'r'"
            " and relnamespace = 'public'::regnamespace"
        )
        tables = [sql.Identifier(name) for (name,) in cursor.fetchall()]
        rows = []
        for table in tables:
            with cursor.copy(sql.SQL("copy {} to stdout").format(table)) as copy:
                if data := b"".join(copy):
                    rows.append((table, data))
    empty = sql.SQL("; ").join(sql.SQL("delete from {}").format(t) for t in tables)

    def restore() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            # No trigger and no foreign key: these rows were together before.
            cursor.execute("set local session_replication_role = replica")
            cursor.execute(empty)
            for table, data in rows:
                into = sql.SQL("copy {} from stdin").format(table)
                with cursor.copy(into) as copy:
                    copy.write(data)

    return restore


def restoring_flush(restore: Restore) -> type[flush.Command]:
    """Return the command that Django calls after a test that commits."""

    class Command(flush.Command):
        def handle(self, **_options: Any) -> None:
            restore()

    return Command


def in_another_thread(act: Callable[[], Result]) -> Result:
    """Run something in a thread with a connection of its own; return its result."""
    results: list[Result] = []

    def work() -> None:
        try:
            results.append(act())
        finally:
            connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return results[0]

"""One moment of a database, read while others write.

SQLite: a read transaction of its own connection, which the log (WAL) serves. It keeps
the log from being emptied until it ends. PostgreSQL: a transaction that is REPEATABLE
READ and READ ONLY. Values come in the portable form of ``rows``.
"""

from __future__ import annotations

import abc
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, Final

import psycopg
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql

from crewship_memory.backup import vectors
from crewship_memory.backup.tables import Column, Table
from memory.rules import errors

Row = tuple[Any, ...]
FETCH: Final = 500
_TIMES: Final = "YYYY-MM-DD HH24:MI:SS.US"
# How PostgreSQL gives a kind of value as SQLite stores it.
_AS_TEXT: Final = {
    "moment": "to_char({} AT TIME ZONE 'UTC', '" + _TIMES + "')",
    "date": "{}::text",
    "json": "{}::text",
}


class InUse(errors.Conflict):
    """Another process has the database open."""

    code = "database_in_use"
    sentence = (
        "The database is in use: stop the server, and every command, then try again."
    )


class Snapshot(abc.ABC):
    """The rows of one moment."""

    @abc.abstractmethod
    def count(self, table: Table) -> int:
        """Return how many rows a table has."""

    @abc.abstractmethod
    def rows(self, table: Table) -> Iterator[Row]:
        """Yield a table's rows in a fixed order, a few hundred at a time."""

    @abc.abstractmethod
    def select(self, statement: str, params: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of a query of ours; its marks are ``%s``."""


class _SQLite(Snapshot):
    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def count(self, table: Table) -> int:
        cursor = self._database.execute(f'SELECT count(*) FROM "{table.name}"')  # noqa: S608
        return int(cursor.fetchone()[0])

    def rows(self, table: Table) -> Iterator[Row]:
        names = ", ".join(f'"{column.name}"' for column in table.columns)
        order = f'SELECT {names} FROM "{table.name}" ORDER BY rowid'  # noqa: S608
        cursor = self._database.execute(order)
        is_bool = [i for i, c in enumerate(table.columns) if c.kind == "bool"]
        while batch := cursor.fetchmany(FETCH):
            for row in batch:
                yield _with_bools(row, is_bool) if is_bool else row

    def select(self, statement: str, params: Sequence[Any] = ()) -> list[Row]:
        return self._database.execute(statement.replace("%s", "?"), params).fetchall()


def _with_bools(row: Row, places: Sequence[int]) -> Row:
    values = list(row)
    for place in places:
        if values[place] is not None:
            values[place] = bool(values[place])
    return tuple(values)


class _Postgres(Snapshot):
    def __init__(self, database: psycopg.Connection) -> None:
        self._database = database

    def count(self, table: Table) -> int:
        query = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table.name))
        return int(self._database.execute(query).fetchall()[0][0])

    def rows(self, table: Table) -> Iterator[Row]:
        expressions = [_expression(column) for column in table.columns]
        vector = vectors.place(table)
        if vector is not None:
            expressions[vector] = vectors.SENT
        query = sql.SQL("SELECT {} FROM {} ORDER BY {}").format(
            sql.SQL(", ").join(expressions),
            sql.Identifier(table.name),
            sql.Identifier(table.key),
        )
        moments = [i for i, c in enumerate(table.columns) if c.kind == "moment"]
        with self._database.cursor(name="backup_rows") as cursor:
            cursor.itersize = FETCH
            cursor.execute(query)
            for row in cursor:
                values = _without_zeros(row, moments) if moments else row
                yield values if vector is None else _with_vector(values, vector)

    def select(self, statement: str, params: Sequence[Any] = ()) -> list[Row]:
        return self._database.execute(statement.encode(), list(params)).fetchall()


def _expression(column: Column) -> sql.Composable:
    pattern = _AS_TEXT.get(column.kind, "{}")
    return sql.SQL(pattern).format(sql.Identifier(column.name))


def _with_vector(row: Row, place: int) -> Row:
    return (*row[:place], vectors.plain(row[place]), *row[place + 1 :])


def _without_zeros(row: Row, places: Sequence[int]) -> Row:
    """Return moments as Django's SQLite writes them: no fraction where it is zero."""
    values = list(row)
    for place in places:
        if values[place] is not None:
            values[place] = values[place].removesuffix(".000000")
    return tuple(values)


@contextmanager
def _sqlite() -> Iterator[Snapshot]:
    name = str(connection.settings_dict["NAME"])
    with closing(sqlite3.connect(name, isolation_level=None, timeout=20)) as database:
        database.execute("PRAGMA query_only = ON")
        database.execute("BEGIN")
        # A deferred transaction begins with its first read.
        database.execute("SELECT count(*) FROM django_migrations").fetchone()
        yield _SQLite(database)
        database.execute("ROLLBACK")


@contextmanager
def alone() -> Iterator[Snapshot]:
    """Yield the SQLite database while nobody else has it open; raise InUse."""
    name = str(connection.settings_dict["NAME"])
    connections.close_all()
    with closing(sqlite3.connect(name, isolation_level=None, timeout=2)) as database:
        try:
            database.execute("PRAGMA locking_mode = EXCLUSIVE")
            database.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            raise InUse from None
        yield _SQLite(database)
        database.execute("ROLLBACK")


def connected(database: BaseDatabaseWrapper) -> psycopg.Connection:
    """Return another connection to a PostgreSQL database, apart from Django's.

    Raises Django's OperationalError where it does not answer.
    """
    params = database.get_connection_params()
    params = {k: v for k, v in params.items() if k not in ("cursor_factory", "context")}
    with database.wrap_database_errors:
        return psycopg.connect(**params)


@contextmanager
def _postgres() -> Iterator[Snapshot]:
    with connected(connection) as database:
        database.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        database.read_only = True
        database.execute("SELECT count(*) FROM django_migrations")
        yield _Postgres(database)
        database.rollback()


_BY_VENDOR: Final[dict[str, Callable[[], Any]]] = {
    "sqlite": _sqlite,
    "postgresql": _postgres,
}


@contextmanager
def taken() -> Iterator[Snapshot]:
    """Yield the database as it is at this moment."""
    with _BY_VENDOR[connection.vendor]() as snapshot:
        yield snapshot

"""Rows in portable form: packed into frames, unpacked, written into a database.

A value is JSON's own; moments are UTC as ``YYYY-MM-DD HH:MM:SS[.ffffff]``, JSON
columns are their text. Bytes stand behind the rows of a frame, and a row has their
length in their place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from django.db import DatabaseError
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql

from crewship_memory.backup.envelope import BadBackup
from crewship_memory.backup.snapshot import Row
from crewship_memory.backup.tables import Table

MAX_ROWS: Final = 1_000
# What a batch holds at most, but for its last row.
BATCH_BYTES: Final = 2 * 1024 * 1024
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "bool": (bool,),
    "moment": (str,),
    "date": (str,),
    "json": (str,),
    "float": (float, int),
    "int": (int,),
    "text": (str,),
}


# ── Into frames ──────────────────────────────────────────────────────────────
@dataclass(slots=True)
class Batch:
    """Some rows of a table, with their bytes apart."""

    rows: list[list[Any]] = field(default_factory=list)
    data: bytearray = field(default_factory=bytearray)
    size: int = 0

    def add(self, row: Row, binary: Sequence[int]) -> None:
        values = list(row)
        for place in binary:
            if values[place] is not None:
                self.data += values[place]
                values[place] = len(values[place])
        self.rows.append(values)
        texts = (len(value) for value in values if isinstance(value, str))
        self.size = self.size + sum(texts) + 8 * len(values)

    @property
    def is_full(self) -> bool:
        return len(self.rows) >= MAX_ROWS or self.size + len(self.data) >= BATCH_BYTES


def _binary(table: Table) -> list[int]:
    return [i for i, column in enumerate(table.columns) if column.kind == "bytes"]


def batches(table: Table, rows: Iterable[Row]) -> Iterator[Batch]:
    """Yield a table's rows in bounded batches."""
    binary, batch = _binary(table), Batch()
    for row in rows:
        batch.add(row, binary)
        if batch.is_full:
            yield batch
            batch = Batch()
    if batch.rows:
        yield batch


# ── Out of frames ────────────────────────────────────────────────────────────
def unpacked(table: Table, rows: Any, data: bytes) -> list[Row]:
    """Return the rows of a frame; raise BadBackup where they do not fit the table."""
    if not isinstance(rows, list) or len(rows) > MAX_ROWS:
        raise BadBackup(reason=f"A frame of {table.name} has no list of rows.")
    place, result = 0, []
    for values in rows:
        if not isinstance(values, list) or len(values) != len(table.columns):
            raise BadBackup(reason=f"A row of {table.name} has other columns.")
        for i, column in enumerate(table.columns):
            value = values[i]
            if value is None:
                continue
            if column.kind == "bytes":
                if type(value) is not int or not 0 <= value <= len(data) - place:
                    raise BadBackup(reason=f"A row of {table.name} lacks bytes.")
                values[i] = data[place : place + value]
                place += value
            elif type(value) not in _TYPES[column.kind]:
                raise BadBackup(
                    reason=f"{table.name}.{column.name} has another kind of value."
                )
        result.append(tuple(values))
    if place != len(data):
        raise BadBackup(reason=f"A frame of {table.name} has bytes of no row.")
    return result


# ── Into a database ──────────────────────────────────────────────────────────
class RowRefused(BadBackup):
    """The database does not take a row."""

    code = "row_refused"


def insert(
    database: BaseDatabaseWrapper, table: Table, rows: Iterable[Sequence[Row]]
) -> int:
    """Write the rows of a table; return how many. The caller has the transaction."""
    write = {"sqlite": _insert_sqlite, "postgresql": _copy}[database.vendor]
    try:
        return write(database, table, rows)
    except (DatabaseError, ValueError, OverflowError) as error:
        if isinstance(error, BadBackup):
            raise
        reason = f"The database does not take a row of {table.name}"
        raise RowRefused(reason=f"{reason}: {type(error).__name__}.") from error


def _insert_sqlite(
    database: BaseDatabaseWrapper, table: Table, rows: Iterable[Sequence[Row]]
) -> int:
    names = ", ".join(f'"{column.name}"' for column in table.columns)
    marks = ", ".join(["%s"] * len(table.columns))
    statement = f'INSERT INTO "{table.name}" ({names}) VALUES ({marks})'  # noqa: S608
    count = 0
    with database.cursor() as cursor:
        for batch in rows:
            cursor.executemany(statement, batch)
            count += len(batch)
    return count


def _copy(
    database: BaseDatabaseWrapper, table: Table, rows: Iterable[Sequence[Row]]
) -> int:
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(
        sql.Identifier(table.name),
        sql.SQL(", ").join(sql.Identifier(column.name) for column in table.columns),
    )
    moments = [i for i, c in enumerate(table.columns) if c.kind == "moment"]
    count = 0
    with database.cursor() as cursor, cursor.copy(statement) as copy:
        for batch in rows:
            for row in batch:
                copy.write_row(_in_utc(row, moments) if moments else row)
            count += len(batch)
    return count


def _in_utc(row: Row, places: Sequence[int]) -> Row:
    values = list(row)
    for place in places:
        if values[place] is not None:
            values[place] += "+00"
    return tuple(values)


def reset_sequences(database: BaseDatabaseWrapper, tables: Iterable[Table]) -> None:
    """Let numbers that the database makes go on after the highest one."""
    if database.vendor != "postgresql":
        return
    with database.cursor() as cursor:
        for table in tables:
            for sequence in database.introspection.get_sequences(cursor, table.name):
                _reset_sequence(cursor, table.name, str(sequence["column"]))


def _reset_sequence(cursor: Any, table: str, column: str) -> None:
    statement = sql.SQL(
        "SELECT setval(pg_get_serial_sequence({}, {}), coalesce(max({}), 1),"
        " max({}) IS NOT NULL) FROM {}"
    ).format(
        sql.Literal(f'"{table}"'),
        sql.Literal(column),
        sql.Identifier(column),
        sql.Identifier(column),
        sql.Identifier(table),
    )
    cursor.execute(statement)

"""The values of a table's rows, column by column, read with SQL in short queries."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Final

from django.db import connection

BATCH: Final = 2_000
# So many bytes are read at once: a few rows may hold very long texts.
MAX_BYTES: Final = 32 * 1024 * 1024
# Rows of PostgreSQL that are fetched before their bytes are counted.
FETCHED: Final = 50
# Between the values of two rows.
_END: Final = "\x00"
# The values of some rows: a sequence for each column.
Columns = Sequence[Sequence[str]]


def read(
    name: str, order: Sequence[str], values: Sequence[str], condition: str
) -> Iterator[Columns]:
    """Yield the rows of a table that meet a condition, ``BATCH`` at a time.

    ``values`` is the SQL of each value, none of which is NULL. ``order`` are the
    columns of the key of a SQLite table without rowid, else empty.
    """
    if connection.vendor != "sqlite":
        yield from _postgres_columns(name, values, condition)
    elif order:
        yield from _sqlite_columns_by_key(name, order, values, condition)
    else:
        yield from _sqlite_columns(name, values, condition)


def _quoted(name: str) -> str:
    return str(connection.ops.quote_name(name))


def _text_of(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _by_column(rows: Sequence[Sequence[str]]) -> Columns:
    return list(zip(*rows, strict=True))


def _sqlite_link() -> sqlite3.Connection:
    path = Path(str(connection.settings_dict["NAME"])).resolve()
    link = sqlite3.connect(
        f"{path.as_uri()}?mode=ro", uri=True, check_same_thread=False
    )
    link.text_factory = _text_of
    return link


def _sqlite_columns(
    name: str, values: Sequence[str], condition: str
) -> Iterator[Columns]:
    """Yield the rows of a table, many of them as one row of SQLite.

    One row each would release and take the interpreter lock every time. A thread reads
    the next rows while the caller searches these.
    """
    also = f" AND ({condition})" if condition else ""
    named = ", ".join(f"{sql} AS value{at}" for at, sql in enumerate(values))
    rows_sql = (
        f"SELECT rowid AS place, {named} FROM {_quoted(name)}"  # noqa: S608
        f" WHERE rowid > ?{also} ORDER BY rowid LIMIT {BATCH}"
    )
    groups = ", ".join(f"group_concat(value{at}, char(0))" for at in range(len(values)))
    grouped_sql = f"SELECT max(place), count(*), {groups} FROM ({rows_sql})"  # noqa: S608

    def columns_after(last: int) -> tuple[int | None, Columns | None]:
        upto, columns = _grouped(link, grouped_sql, last)
        if upto is not None and columns is None:
            return _one_by_one(link, rows_sql, last)
        return upto, columns

    with closing(_sqlite_link()) as link, ThreadPoolExecutor(1) as thread:
        future: Future[tuple[int | None, Columns | None]] | None
        future = thread.submit(columns_after, -(2**63))
        while future is not None:
            upto, columns = future.result()
            future = None if upto is None else thread.submit(columns_after, upto)
            if columns:
                yield columns


def _grouped(
    link: sqlite3.Connection, sql: str, last: int
) -> tuple[int | None, Columns | None]:
    """Return the last rowid of the next rows, and their values.

    No rowid when there are no rows; no values when they are too long for one row, or
    one has the separator in it.
    """
    before = link.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_BYTES)
    try:
        upto, count, *groups = link.execute(sql, [last]).fetchone()
    except sqlite3.DataError:
        return last, None
    finally:
        link.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, before)
    columns = [group.split(_END) for group in groups if group is not None]
    is_whole = all(len(column) == count for column in columns)
    return upto, columns if is_whole else None


def _one_by_one(
    link: sqlite3.Connection, sql: str, last: int
) -> tuple[int | None, Columns | None]:
    """Return the last rowid of the next rows and their values, up to ``MAX_BYTES``."""
    rows: list[Sequence[str]] = []
    upto, size = None, 0
    with closing(link.execute(sql, [last])) as cursor:
        for place, *texts in cursor:
            rows.append(texts)
            upto, size = place, size + sum(map(len, texts))
            if size >= MAX_BYTES:
                break
    return upto, _by_column(rows)


def _sqlite_columns_by_key(
    name: str, order: Sequence[str], values: Sequence[str], condition: str
) -> Iterator[Columns]:
    """Yield the rows of a table without rowid, in the order of its key."""
    where_clause = f" WHERE {condition}" if condition else ""
    key = ", ".join(map(_quoted, order))
    sql = (
        f"SELECT {', '.join(values)} FROM {_quoted(name)}{where_clause}"  # noqa: S608
        f" ORDER BY {key} LIMIT {BATCH} OFFSET ?"
    )
    with closing(_sqlite_link()) as link:
        offset = 0
        while rows := link.execute(sql, [offset]).fetchall():
            offset += len(rows)
            yield _by_column(rows)


def _postgres_columns(
    name: str, values: Sequence[str], condition: str
) -> Iterator[Columns]:
    where_clause = f" WHERE {condition}" if condition else ""
    with connection.chunked_cursor() as cursor:
        cursor.execute(
            f"SELECT {', '.join(values)} FROM {_quoted(name)}{where_clause}"  # noqa: S608
        )
        rows: list[Sequence[str]] = []
        size = 0
        while fetched := cursor.fetchmany(FETCHED):
            rows += fetched
            size += sum(len(text) for row in fetched for text in row)
            if len(rows) >= BATCH or size >= MAX_BYTES:
                yield _by_column(rows)
                rows, size = [], 0
        if rows:
            yield _by_column(rows)

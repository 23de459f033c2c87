"""Indexes of PostgreSQL, left out while a table is filled.

Made once, at the end, they cost a fraction of what row by row costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.db.backends.base.base import BaseDatabaseWrapper

# Those that keep a rule stay: they are looked into meanwhile. The ones of partitions
# come and go with their parent's.
_INDEXES: Final = (
    "SELECT c.relname, pg_get_indexdef(i.indexrelid) FROM pg_index i"
    " JOIN pg_class c ON c.oid = i.indexrelid"
    " WHERE i.indrelid = to_regclass(%s) AND NOT i.indisunique"
    " AND NOT c.relispartition"
)
_MEMORY: Final = (
    "SELECT set_config('maintenance_work_mem', '512MB', true) WHERE"
    " pg_size_bytes(current_setting('maintenance_work_mem')) < pg_size_bytes('512MB')"
)
# One process alone makes them: several share memory that a container may not have.
_SETTINGS: Final = (
    # No index is made while foreign keys are still to be checked.
    "SET CONSTRAINTS ALL IMMEDIATE",
    _MEMORY,
    "SET LOCAL max_parallel_maintenance_workers = 0",
)


# Fewer rows are quicker with the indexes in place.
LARGE: Final = 2_000


@contextmanager
def left_out(
    database: BaseDatabaseWrapper, table: str, rows: int = LARGE
) -> Iterator[None]:
    """Drop the indexes of a table and make them again; the caller has the transaction.

    A table that gets few rows keeps them, and so does SQLite.
    """
    if database.vendor != "postgresql" or rows < LARGE:
        yield
        return
    with database.cursor() as cursor:
        cursor.execute(_INDEXES, [table])
        indexes = cursor.fetchall()
        for name, _ in indexes:
            cursor.execute(f"DROP INDEX {database.ops.quote_name(name)}")
        yield
        for statement in _SETTINGS:
            cursor.execute(statement)
        for _, definition in indexes:
            # It stands there as that of the parent, without its partitions.
            cursor.execute(definition.replace(" ON ONLY ", " ON ", 1))

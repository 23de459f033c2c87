"""What a row of the journal takes on PostgreSQL's disk, table by table."""

from __future__ import annotations

from typing import Any, Final

from django.db import connection

# The tables that grow with the journal, by what their names begin with.
_TABLES: Final = (
    "SELECT c.relname, pg_table_size(c.oid), COALESCE(i.indexes, 0),"
    " COALESCE(i.graphs, 0) FROM pg_class c LEFT JOIN ("
    "SELECT x.indrelid, sum(pg_relation_size(x.indexrelid)) FILTER"
    " (WHERE a.amname <> 'hnsw') AS indexes, sum(pg_relation_size(x.indexrelid)) FILTER"
    " (WHERE a.amname = 'hnsw') AS graphs FROM pg_index x"
    " JOIN pg_class k ON k.oid = x.indexrelid JOIN pg_am a ON a.oid = k.relam"
    " GROUP BY x.indrelid) i ON i.indrelid = c.oid"
    " WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace"
)
# Pages that every partition has before its first row.
LEAST_BYTES: Final = 100_000


def measure(rows: int) -> dict[str, Any]:
    """Return the bytes of each table a row of the journal, and their sum."""
    tables: dict[str, dict[str, int]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_TABLES)
        for name, heap, indexes, graphs in cursor.fetchall():
            total = heap + indexes + graphs
            if total < LEAST_BYTES or name.startswith("bench_"):
                continue
            name = "journal_vectors" if name.startswith("journal_vectors_") else name
            sums = tables.setdefault(name, {"table": 0, "indexes": 0, "hnsw": 0})
            for kind, size in zip(sums, (heap, indexes, graphs), strict=True):
                sums[kind] += int(size)
    by_row = {
        name: {kind: round(size / rows) for kind, size in sums.items()}
        for name, sums in sorted(tables.items())
    }
    plain = sum(s["table"] + s["indexes"] for s in tables.values()) / rows
    graphs = sum(s["hnsw"] for s in tables.values()) / rows
    return {
        "bytes_per_row": round(plain),
        "hnsw_bytes_per_row": round(graphs),
        "tables": {name: sums for name, sums in by_row.items() if any(sums.values())},
    }


def database_bytes() -> int:
    """Return the size of the whole database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return int(cursor.fetchone()[0])

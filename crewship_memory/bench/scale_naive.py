"""The obvious design beside ours: vectors in the table of embeddings.

A wide row with the vector twice, one index over all tenants that is filtered
afterwards, a join to the journal for the moment, and a count for each question.
"""

from __future__ import annotations

from typing import Any, Final

from django.db import connection

from episodic.embedders.base import Vectors
from episodic.vectors import pg_scope
from episodic.vectors.base import VectorScope

EXACT: Final = 50_000
OVERFETCH: Final = 8
_MAKE: Final = (
    "DROP TABLE IF EXISTS bench_naive",
    """
    CREATE TABLE bench_naive (
        entry_id varchar(32) PRIMARY KEY, workspace_id varchar(32) NOT NULL,
        seq bigint NOT NULL, crew_id varchar(128), agent_id varchar(128),
        state varchar(8) NOT NULL, vector bytea NOT NULL, dim integer NOT NULL,
        model varchar(120) NOT NULL, indexed_at timestamptz, embedded_at timestamptz,
        importance_score double precision NOT NULL, reference_count integer NOT NULL,
        vec vector
    )
    """,
    """
    INSERT INTO bench_naive SELECT v.entry_id, v.workspace_id, e.seq, v.crew_id,
        v.agent_id, 'indexed', vector_send(v.vec::vector), v.dim, v.model, v.ts, v.ts,
        v.importance, 0, v.vec::vector
    FROM journal_vectors v JOIN journal_embeddings e ON e.entry_id = v.entry_id
    """,
    "CREATE INDEX bench_naive_of ON bench_naive (workspace_id, model, state)",
    """
    CREATE INDEX bench_naive_hnsw ON bench_naive
    USING hnsw ((vec::vector(384)) vector_cosine_ops) WHERE dim = 384
    """,
    "ANALYZE bench_naive",
)
_FROM: Final = " FROM bench_naive m JOIN journal_entries e ON e.id = m.entry_id WHERE "
_COSINE: Final = "(1 - (m.vec <=> %s::vector))"


def build() -> None:
    """Make the table of all vectors that are there, and its indexes."""
    with connection.cursor() as cursor:
        for statement in _MAKE:
            cursor.execute(statement)


def drop() -> None:
    """Drop the table."""
    with connection.cursor() as cursor:
        cursor.execute(_MAKE[0])


def _conditions(scope: VectorScope, dim: int) -> tuple[str, list[Any]]:
    where = ["m.workspace_id = %s", "m.model = %s", "m.state = 'indexed'"]
    where += [f"m.dim = {dim}", "m.vec IS NOT NULL"]
    params: list[Any] = [scope.workspace_id, scope.model]
    owners = {"m.crew_id": scope.crew_id, "m.agent_id": scope.agent_id}
    owned = {column: value for column, value in owners.items() if value is not None}
    if owned:
        where.append(f"({' OR '.join(f'{column} = %s' for column in owned)})")
        params += list(owned.values())
    return " AND ".join(where), params


def statements(
    query: Vectors, mean: Vectors, scope: VectorScope, limit: int, count: int
) -> list[tuple[str, list[Any]]]:
    """Return the count and the search of a question, by centred cosine."""
    dim = len(query)
    where, params = _conditions(scope, dim)
    candidates = (
        f"SELECT m.entry_id, {_COSINE} AS cosine, m.importance_score, e.ts,"
        " COALESCE(NULLIF(1 - ((m.vec - %s::vector) <=> %s::vector), 'NaN'), 0)"
        f" AS value{_FROM}{where}"
    )
    texts = [pg_scope.literal(v) for v in (query, mean, query - mean)]
    args = [*texts, *params]
    if count > EXACT:
        candidates += f" ORDER BY m.vec::vector({dim}) <=> %s::vector LIMIT %s"
        args += [texts[0], limit * OVERFETCH]
    best = (
        f"WITH near AS ({candidates}), ends AS"  # noqa: S608
        " (SELECT min(value) AS low, max(value) AS high FROM near)"
        " SELECT entry_id, cosine, value, importance_score, low, high"
        " FROM near, ends ORDER BY value DESC, ts DESC, entry_id LIMIT %s"
    )
    return [(f"SELECT count(*){_FROM}{where}", params), (best, [*args, limit])]


def search(
    query: Vectors, mean: Vectors, scope: VectorScope, limit: int
) -> tuple[list[str], int]:
    """Return the ids that the naive search brings, and how many it counted."""
    with connection.cursor() as cursor:
        cursor.execute(*statements(query, mean, scope, limit, 0)[0])
        count = int(cursor.fetchone()[0])
        cursor.execute(*statements(query, mean, scope, limit, count)[1])
        return [row[0] for row in cursor.fetchall()], count

"""The dense ranking on PostgreSQL: pgvector, filtered by scope in the same query.

Up to EXACT vectors in scope the answer is exact, by cosine × importance. Above it the
HNSW index brings more neighbours by cosine than asked for, and those are ordered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.db import connection

from episodic.embedders.base import Vectors
from episodic.vectors.base import SearchResult, VectorHit, VectorScope
from memory.rules.entries import RULE_TYPE

EXACT: Final = 50_000
OVERFETCH: Final = 8
INDEXED_DIMS: Final = (384, 768)


def literal(vector: Vectors) -> str:
    """Return a vector in pgvector's text form."""
    return "[" + ",".join(f"{value:.9g}" for value in vector.tolist()) + "]"


def store(pairs: Sequence[tuple[str, Vectors]]) -> None:
    """Put vectors where pgvector can search them; nothing to do on SQLite."""
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE journal_embeddings SET vec = %s::vector WHERE entry_id = %s",
            [(literal(vector), entry_id) for entry_id, vector in pairs],
        )


def _comparable(dim: int) -> str:
    """Return the condition that a vector may be compared: same model, same length."""
    # The number is part of the text, or the partial indexes would not be used.
    return (
        f"m.model = %s AND m.state = 'indexed' AND m.dim = {dim} AND m.vec IS NOT NULL"
    )


def _conditions(scope: VectorScope, dim: int) -> tuple[str, list[Any]]:
    where = ["m.workspace_id = %s", _comparable(dim)]
    params: list[Any] = [scope.workspace_id, scope.model]
    owners = {"m.crew_id": scope.crew_id, "m.agent_id": scope.agent_id}
    owner_ids = {column: value for column, value in owners.items() if value is not None}
    if owner_ids:
        alternatives = [f"{column} = %s" for column in owner_ids]
        params += list(owner_ids.values())
        if scope.rules_crew_id is not None:
            alternatives.append(
                "(m.crew_id = %s AND m.agent_id IS NULL AND e.entry_type = %s)"
            )
            params += [scope.rules_crew_id, RULE_TYPE]
        where.append(f"({' OR '.join(alternatives)})")
    if scope.only_crewless:
        where.append("m.crew_id IS NULL")
    if scope.entry_types:
        where.append("e.entry_type = ANY(%s)")
        params.append(list(scope.entry_types))
    for moment, sign in ((scope.since, ">="), (scope.until, "<=")):
        if moment is not None:
            where.append(f"e.ts {sign} %s")
            params.append(moment)
    return " AND ".join(where), params


_COSINES = (
    "SELECT m.entry_id, 1 - (m.vec <=> %s::vector) AS cosine,"
    " m.importance_score, e.ts FROM journal_embeddings m"
    " JOIN journal_entries e ON e.id = m.entry_id WHERE "
)
_SCORED = (
    "SELECT entry_id, cosine, importance_score, cosine * importance_score AS score,"
    " ts FROM near"
)


def _hit(row: tuple[Any, ...]) -> VectorHit:
    return VectorHit(row[0], float(row[1]), float(row[2]), float(row[3]))


class PgIndex:
    """Nearest neighbours from pgvector; VectorIndex says what each method returns."""

    name = "pgvector"

    def search(self, query: Vectors, scope: VectorScope, limit: int) -> SearchResult:
        where, params = _conditions(scope, len(query))
        count = (
            "SELECT count(*) FROM journal_embeddings m"  # noqa: S608
            f" JOIN journal_entries e ON e.id = m.entry_id WHERE {where}"
        )
        with connection.cursor() as cursor:
            cursor.execute(count, params)
            considered = int(cursor.fetchone()[0])
        if not considered:
            return SearchResult([], 0)
        cosines, args = _COSINES + where, [literal(query), *params]
        if considered > EXACT and len(query) in INDEXED_DIMS:
            dim = len(query)
            cosines += f" ORDER BY m.vec::vector({dim}) <=> %s::vector LIMIT %s"
            args += [literal(query), limit * OVERFETCH]
        sql = (
            f"WITH near AS ({cosines}), scored AS ({_SCORED}),"  # noqa: S608
            " ends AS (SELECT min(score) AS low, max(score) AS high FROM scored)"
            " SELECT entry_id, cosine, importance_score, score, low, high"
            " FROM scored, ends ORDER BY score DESC, ts DESC, entry_id LIMIT %s"
        )
        with connection.cursor() as cursor:
            cursor.execute(sql, [*args, limit])
            rows = cursor.fetchall()
        low, high = (float(rows[0][4]), float(rows[0][5])) if rows else (0.0, 0.0)
        return SearchResult([_hit(row) for row in rows], considered, low, high)

    def nearest(
        self, query: Vectors, scope: VectorScope, limit: int, min_cosine: float
    ) -> list[VectorHit]:
        where, params = _conditions(scope, len(query))
        sql = (
            f"WITH near AS ({_COSINES + where}), scored AS ({_SCORED})"  # noqa: S608
            " SELECT entry_id, cosine, importance_score, score FROM scored"
            " WHERE cosine >= %s ORDER BY cosine DESC, entry_id LIMIT %s"
        )
        with connection.cursor() as cursor:
            cursor.execute(sql, [literal(query), *params, min_cosine, limit])
            return [_hit(row) for row in cursor.fetchall()]

    def of(
        self, query: Vectors, scope: VectorScope, entry_ids: list[str]
    ) -> dict[str, VectorHit]:
        if not entry_ids:
            return {}
        comparable = _comparable(len(query))
        cosines = (
            f"{_COSINES} m.workspace_id = %s AND {comparable} AND m.entry_id = ANY(%s)"
        )
        args: list[Any] = [literal(query), scope.workspace_id, scope.model, entry_ids]
        with connection.cursor() as cursor:
            cursor.execute(f"WITH near AS ({cosines}) {_SCORED}", args)
            return {row[0]: _hit(row) for row in cursor.fetchall()}

    def cosines(
        self, query: Vectors, scope: VectorScope, entry_ids: list[str]
    ) -> dict[str, float]:
        hits = self.of(query, scope, entry_ids)
        return {entry_id: hit.cosine for entry_id, hit in hits.items()}

    def rank(self, query: Vectors, scope: VectorScope, entry_id: str) -> int | None:
        where, params = _conditions(scope, len(query))
        sql = (
            f"WITH near AS ({_COSINES + where}), scored AS ({_SCORED}),"  # noqa: S608
            " ranked AS (SELECT entry_id, row_number() OVER"
            " (ORDER BY score DESC, ts DESC, entry_id) AS place FROM scored)"
            " SELECT place FROM ranked WHERE entry_id = %s"
        )
        with connection.cursor() as cursor:
            cursor.execute(sql, [literal(query), *params, entry_id])
            row = cursor.fetchone()
        return int(row[0]) if row else None

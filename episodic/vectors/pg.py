"""The dense ranking on PostgreSQL: pgvector, filtered by scope in the same query.

Up to EXACT vectors in scope the answer is exact, by cosine × importance or by centred
cosine. Above it the HNSW index brings more neighbours by cosine than asked for, and
those are ordered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.db import connection

from episodic.embedders.base import Vectors
from episodic.vectors import pg_mean
from episodic.vectors.base import SearchResult, VectorHit, VectorScope
from memory.rules.entries import RULE_TYPE

EXACT: Final = 50_000
OVERFETCH: Final = 8
INDEXED_DIMS: Final = (384, 768)


def store(pairs: Sequence[tuple[str, Vectors]]) -> None:
    """Put vectors where pgvector can search them; nothing to do on SQLite."""
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE journal_embeddings SET vec = %s::vector WHERE entry_id = %s",
            [(pg_mean.literal(vector), entry_id) for entry_id, vector in pairs],
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
    moments = {
        "e.ts >= %s": scope.since,
        "e.ts <= %s": scope.until,
        "e.recorded_at <= %s": scope.recorded_until,
    }
    for condition, moment in moments.items():
        if moment is not None:
            where.append(condition)
            params.append(moment)
    return " AND ".join(where), params


_COSINE: Final = "(1 - (m.vec <=> %s::vector))"
_FROM: Final = (
    " FROM journal_embeddings m JOIN journal_entries e ON e.id = m.entry_id WHERE "
)
Sql = tuple[str, list[Any]]


def _centred(query: Vectors, mean: Vectors | None) -> Sql:
    """Return the centred cosine of ``m.vec`` in SQL; 0 for the mean itself."""
    if mean is None:
        return _COSINE, [pg_mean.literal(query)]
    text = "COALESCE(NULLIF(1 - ((m.vec - %s::vector) <=> %s::vector), 'NaN'), 0)"
    return text, [pg_mean.literal(mean), pg_mean.literal(query - mean)]


def _nearest_sql(query: Vectors, where: Sql, value: Sql | None = None) -> Sql:
    """Return a query of entries with their cosine, and the value they are ordered by.

    The value is cosine × importance unless another one is given.
    """
    text, args = value or (_COSINE + " * m.importance_score", [pg_mean.literal(query)])
    sql = (
        f"SELECT m.entry_id, {_COSINE} AS cosine, m.importance_score, e.ts,"
        f" {text} AS value{_FROM}{where[0]}"
    )
    return sql, [pg_mean.literal(query), *args, *where[1]]


def _hit(row: tuple[Any, ...]) -> VectorHit:
    name, cosine, centred, importance = row[:4]
    score = float(cosine) * float(importance)
    return VectorHit(name, float(cosine), float(centred), float(importance), score)


def _rows(sql: str, args: list[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, args)
        return list(cursor.fetchall())


class PgIndex:
    """Nearest neighbours from pgvector; VectorIndex says what each method returns."""

    name = "pgvector"

    def search(
        self, query: Vectors, scope: VectorScope, limit: int, *, centred: bool = False
    ) -> SearchResult:
        where, params = _conditions(scope, len(query))
        [[considered]] = _rows(f"SELECT count(*){_FROM}{where}", params)
        if not considered:
            return SearchResult([], 0)
        mean = pg_mean.of(scope, len(query), is_checked=centred)
        middle, middle_args = _centred(query, mean)
        value = (middle, middle_args) if centred else None
        nearest_rows, args = _nearest_sql(query, (where, params), value)
        if considered > EXACT and len(query) in INDEXED_DIMS:
            dim = len(query)
            nearest_rows += f" ORDER BY m.vec::vector({dim}) <=> %s::vector LIMIT %s"
            args += [pg_mean.literal(query), limit * OVERFETCH]
        rows = _rows(
            f"WITH near AS ({nearest_rows}), ends AS"  # noqa: S608
            " (SELECT min(value) AS low, max(value) AS high FROM near), best AS"
            " (SELECT * FROM near ORDER BY value DESC, ts DESC, entry_id LIMIT %s)"
            f" SELECT best.entry_id, cosine, {middle}, best.importance_score, low, high"
            " FROM best JOIN journal_embeddings m ON m.entry_id = best.entry_id, ends"
            " ORDER BY value DESC, ts DESC, best.entry_id",
            [*args, limit, *middle_args],
        )
        low, high = (float(rows[0][4]), float(rows[0][5])) if rows else (0.0, 0.0)
        return SearchResult([_hit(row) for row in rows], considered, low, high)

    def nearest(
        self, query: Vectors, scope: VectorScope, limit: int, min_cosine: float
    ) -> list[VectorHit]:
        nearest_rows, args = self._named_sql(
            query, scope, _conditions(scope, len(query))
        )
        sql = (
            f"WITH near AS ({nearest_rows})"  # noqa: S608
            " SELECT entry_id, cosine, value, importance_score"
            " FROM near WHERE cosine >= %s ORDER BY cosine DESC, entry_id LIMIT %s"
        )
        return [_hit(row) for row in _rows(sql, [*args, min_cosine, limit])]

    def of(
        self, query: Vectors, scope: VectorScope, entry_ids: list[str]
    ) -> dict[str, VectorHit]:
        if not entry_ids:
            return {}
        where = (
            f"m.workspace_id = %s AND {_comparable(len(query))}"
            " AND m.entry_id = ANY(%s)"
        )
        params: list[Any] = [scope.workspace_id, scope.model, entry_ids]
        nearest_rows, args = self._named_sql(query, scope, (where, params))
        sql = (
            f"WITH near AS ({nearest_rows})"  # noqa: S608
            " SELECT entry_id, cosine, value, importance_score FROM near"
        )
        return {row[0]: _hit(row) for row in _rows(sql, args)}

    def _named_sql(self, query: Vectors, scope: VectorScope, where: Sql) -> Sql:
        """Return a query of entries whose value is the centred cosine."""
        mean = pg_mean.of(scope, len(query))
        return _nearest_sql(query, where, _centred(query, mean))

    def cosines(
        self, query: Vectors, scope: VectorScope, entry_ids: list[str]
    ) -> dict[str, float]:
        hits = self.of(query, scope, entry_ids)
        return {entry_id: hit.cosine for entry_id, hit in hits.items()}

    def meanings(
        self, query: Vectors, scope: VectorScope, entry_ids: list[str]
    ) -> tuple[dict[str, float], dict[str, float]]:
        hits = self.of(query, scope, entry_ids)
        return (
            {entry_id: hit.cosine for entry_id, hit in hits.items()},
            {entry_id: hit.centred for entry_id, hit in hits.items()},
        )

    def rank(
        self,
        query: Vectors,
        scope: VectorScope,
        entry_id: str,
        *,
        centred: bool = False,
    ) -> int | None:
        mean = pg_mean.of(scope, len(query)) if centred else None
        value = _centred(query, mean) if centred else None
        nearest_rows, args = _nearest_sql(query, _conditions(scope, len(query)), value)
        rows = _rows(
            f"WITH near AS ({nearest_rows}), ranked AS"  # noqa: S608
            " (SELECT entry_id, row_number() OVER"
            " (ORDER BY value DESC, ts DESC, entry_id) AS place FROM near)"
            " SELECT place FROM ranked WHERE entry_id = %s",
            [*args, entry_id],
        )
        return int(rows[0][0]) if rows else None

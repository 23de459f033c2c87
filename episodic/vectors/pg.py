"""The dense ranking on PostgreSQL: pgvector, filtered by scope in the same query.

A scope of up to EXACT vectors is compared whole. Of a larger one the HNSW index of its
workspace's partition brings the nearest that are in scope, however many others lie
between, more than asked for; where it does not bring as many, everything is compared.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Final

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from episodic.embedders.base import Vectors
from episodic.vectors import pg_counts, pg_mean, pg_scope
from episodic.vectors.base import SearchResult, VectorHit, VectorScope
from episodic.vectors.pg_question import Question
from episodic.vectors.pg_scope import Row, Sql

EXACT: Final = 20_000
# The database orders by halves: what lies so near the cut is measured too.
SPARE: Final = 14
# Brought for each hit that is asked for, by centred cosine and by the product.
CENTRED_SHARE: Final = 6
PRODUCT_SHARE: Final = 40
SAMPLED: Final = 256
# The graph is searched with so many candidates at once, until it has brought enough or
# looked at so many vectors. Valid until the transaction ends, and no longer.
_SETTINGS: Final = (
    "SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true),"
    " set_config('hnsw.ef_search', %s, true),"
    " set_config('hnsw.max_scan_tuples', %s, true)"
)
EF_SEARCH: Final = 200
MAX_SCAN_TUPLES: Final = 60_000
_ORDER: Final = "ORDER BY value DESC, ts DESC, entry_id"
_ROW: Final = "entry_id, ts, importance, halfvec_send(vec)"


class PgIndex:
    """Nearest neighbours from pgvector; VectorIndex says what each method returns."""

    name = "pgvector"

    def search(
        self, query: Vectors, scope: VectorScope, limit: int, *, centred: bool = False
    ) -> SearchResult:
        with transaction.atomic(), connection.cursor() as cursor:
            size = pg_counts.of(cursor, scope, len(query))
            if not size:
                return SearchResult([], 0)
            mean = pg_mean.of(cursor, scope, len(query), is_checked=centred)
            search = _Search(cursor, scope, Question(query, mean, centred))
            return search.result(limit, size)

    def nearest(
        self, query: Vectors, scope: VectorScope, limit: int, min_cosine: float
    ) -> list[VectorHit]:
        with transaction.atomic(), connection.cursor() as cursor:
            size = pg_counts.of(cursor, scope, len(query))
            mean = pg_mean.of(cursor, scope, len(query))
            question = Question(query, None, centred=True)
            rows = _Search(cursor, scope, question).rows(limit, size) if size else []
        hits = Question(query, mean, centred=False).hits(rows)
        close = [hit for hit in hits if hit.cosine >= min_cosine]
        return sorted(close, key=lambda hit: (-hit.cosine, hit.entry_id))[:limit]

    def of(
        self, query: Vectors, scope: VectorScope, entry_ids: list[str]
    ) -> dict[str, VectorHit]:
        if not entry_ids:
            return {}
        text, params = pg_scope.workspace(scope, len(query))
        sql = (
            f"SELECT {_ROW} FROM journal_vectors v WHERE {text} AND v.is_ranked"  # noqa: S608
            " AND v.entry_id = ANY(%s)"
        )
        with connection.cursor() as cursor:
            mean = pg_mean.of(cursor, scope, len(query))
            rows = pg_scope.rows(cursor, sql, [*params, entry_ids])
        hits = Question(query, mean, centred=False).hits(rows)
        return {hit.entry_id: hit for hit in hits}

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
        with connection.cursor() as cursor:
            mean = pg_mean.of(cursor, scope, len(query)) if centred else None
            near, params = _near(scope, Question(query, mean, centred))
            rows = pg_scope.rows(
                cursor,
                f"WITH near AS ({near}), ranked AS"  # noqa: S608
                f" (SELECT entry_id, row_number() OVER ({_ORDER}) AS place FROM near)"
                " SELECT place FROM ranked WHERE entry_id = %s",
                [*params, entry_id],
            )
        return int(rows[0][0]) if rows else None


def _near(scope: VectorScope, question: Question) -> Sql:
    """Return a query of everything in scope, with what it is ordered by."""
    value, values = question.value()
    where, params = pg_scope.comparable(scope, question.dim)
    sql = (
        f"SELECT v.entry_id, v.ts, {value} AS value"  # noqa: S608
        f" FROM journal_vectors v WHERE {where}"
    )
    return sql, [*values, *params]


class _Search:
    """One search; its statements see what one another saw, or a little more."""

    def __init__(
        self, cursor: CursorWrapper, scope: VectorScope, question: Question
    ) -> None:
        self._cursor, self._scope, self._question = cursor, scope, question

    def result(self, limit: int, size: int) -> SearchResult:
        """Return the best of a scope of at most ``size`` vectors."""
        if self._is_large(size):
            if pg_scope.has_moments(self._scope):
                size = self._counted()
            if size > EXACT and (rows := self._approximate(limit)) is not None:
                hits = self._question.hits(rows)[:limit]
                highest = self._question.order(hits[0]) if hits else 0.0
                return SearchResult(hits, size, self._lowest(size, highest), highest)
        rows, size, lowest, highest = self._exact(limit)
        hits = self._question.hits(rows)[:limit]
        if hits:
            # The ends as exact as the hits that are there.
            highest = self._question.order(hits[0])
            if size <= limit:
                lowest = self._question.order(hits[-1])
        return SearchResult(hits, size, min(lowest, highest), highest)

    def rows(self, limit: int, size: int) -> list[Row]:
        """Return the best rows of a scope of at most ``size`` vectors."""
        if self._is_large(size):
            rows = self._approximate(limit)
            if rows is not None:
                return rows
        return self._exact(limit)[0]

    def _is_large(self, size: int) -> bool:
        return size > EXACT and self._question.dim in pg_scope.INDEXED_DIMS

    def _counted(self) -> int:
        where, params = pg_scope.comparable(self._scope, self._question.dim)
        sql = f"SELECT count(*) FROM journal_vectors v WHERE {where}"  # noqa: S608
        return int(pg_scope.rows(self._cursor, sql, params)[0][0])

    def _exact(self, limit: int) -> tuple[list[Row], int, float, float]:
        """Return the best rows of all, how many there are, and the ends."""
        near, params = _near(self._scope, self._question)
        rows = pg_scope.rows(
            self._cursor,
            f"WITH near AS MATERIALIZED ({near}), ends AS"  # noqa: S608
            " (SELECT count(*) AS size, min(value) AS low, max(value) AS high"
            f" FROM near), best AS (SELECT * FROM near {_ORDER} LIMIT %s)"
            " SELECT best.entry_id, best.ts, v.importance, halfvec_send(v.vec),"
            " size, low, high FROM best JOIN journal_vectors v ON v.workspace_id = %s"
            " AND v.entry_id = best.entry_id, ends",
            [*params, limit + SPARE, self._scope.workspace_id],
        )
        return (rows, *rows[0][4:]) if rows else ([], 0, 0.0, 0.0)

    def _approximate(self, limit: int) -> list[Row] | None:
        """Return good rows from the index; None where it brings fewer."""
        question, dim = self._question, self._question.dim
        wanted = limit * (CENTRED_SHARE if question.centred else PRODUCT_SHARE)
        where, params = pg_scope.comparable(self._scope, dim)
        value, values = question.value()
        self._cursor.execute(_SETTINGS, [str(EF_SEARCH), str(MAX_SCAN_TUPLES)])
        rows = pg_scope.rows(
            self._cursor,
            "WITH near AS MATERIALIZED ("  # noqa: S608
            "SELECT v.entry_id, v.ts, v.importance, v.vec FROM journal_vectors v"
            f" WHERE {where} ORDER BY v.vec::halfvec({dim}) <=> %s::halfvec({dim})"
            f" LIMIT %s) SELECT {_ROW}, count(*) OVER () FROM"
            f" (SELECT *, {value} AS value FROM near v) AS valued {_ORDER} LIMIT %s",
            [*params, question.towards, wanted, *values, limit + SPARE],
        )
        return rows if rows and rows[0][4] >= wanted else None

    def _lowest(self, size: int, highest: float) -> float:
        """Return about the least value of a scope, from a sample of its workspace."""
        value, values = self._question.value()
        where, params = pg_scope.workspace(self._scope, self._question.dim)
        sampled = (
            f"SELECT {value} AS value FROM journal_vectors v WHERE {where}"  # noqa: S608
            " AND v.is_ranked ORDER BY v.entry_id LIMIT %s"
        )
        [[mean, deviation]] = pg_scope.rows(
            self._cursor,
            f"SELECT avg(value), stddev_pop(value) FROM ({sampled}) AS sampled",  # noqa: S608
            [*values, *params, SAMPLED],
        )
        return min(lowest_of(float(mean), float(deviation), size), highest)


def lowest_of(mean: float, deviation: float, size: int) -> float:
    """Return where the least of so many values lies that are spread as a normal one."""
    return max(-1.0, mean + deviation * NormalDist().inv_cdf(1 / (size + 1)))

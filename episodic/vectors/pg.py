"""The dense ranking on PostgreSQL: pgvector, filtered by scope in the same query.

A scope is compared whole while that is quicker, by its size and by how many others lie
between what is in it. Of a larger one the HNSW index of its workspace's partition
brings the nearest in scope, more than asked for; where it does not bring as many,
everything is compared after all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from statistics import NormalDist
from typing import Any, Final

from django.db import transaction
from django.db.backends.utils import CursorWrapper

from episodic.embedders.base import Vectors
from episodic.vectors import pg_counts, pg_mean, pg_scope
from episodic.vectors.base import SearchResult, VectorHit, VectorScope
from episodic.vectors.pg_counts import Sizes
from episodic.vectors.pg_question import Question
from episodic.vectors.pg_scope import Row, Sql
from memory import recall_database

# What the index costs, in vectors that are compared one by one in the same time: to
# enter it, and for each vector that it brings, in scope or not.
ENTRY_COST: Final = 12_000
VISIT_COST: Final = 18
# The database orders by halves: what lies so near the cut is measured too.
SPARE: Final = 14
SLACK: Final = 2e-4
# Brought for each hit that is asked for, by centred cosine and by the product.
CENTRED_SHARE: Final = 4
PRODUCT_SHARE: Final = 40
SAMPLED: Final = 256
_LOW: Final = 0.1
# The index is searched with so many candidates at once, of which there have to be more
# in a larger one: of the ten nearest among a million 200 find 0.92, and 400 or 800
# find 0.99. pgvector takes 1,000 at most.
LEAST_CANDIDATES: Final = 200
MOST_CANDIDATES: Final = 1_000
VECTORS_FOR_A_CANDIDATE: Final = 1_250
# The search goes on until it has brought enough or looked at so many vectors. Valid
# until the transaction ends, and no longer.
SETTINGS: Final = {
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.max_scan_tuples": "400000",
    "hnsw.scan_mem_multiplier": "16",
}
_PAIRS: Final = ["set_config(%s, %s, true)"] * (len(SETTINGS) + 1)
_SET: Final = f"SELECT {', '.join(_PAIRS)}"
_ORDER: Final = "ORDER BY value DESC, ts DESC, entry_id"
# In microseconds: a moment of its own would take as long to read as a vector.
_MOMENT: Final = "(extract(epoch FROM {ts}) * 1000000)::bigint"
_ROW: Final = f"entry_id, {_MOMENT.format(ts='ts')}, importance, halfvec_send(vec)"


@contextmanager
def _reading() -> Iterator[CursorWrapper]:
    """Open a cursor of the database that recall reads, in a transaction."""
    database = recall_database.connection()
    with transaction.atomic(using=database.alias), database.cursor() as cursor:
        yield cursor


class PgIndex:
    """Nearest neighbours from pgvector; VectorIndex says what each method returns."""

    name = "pgvector"

    def __init__(self, *, is_exact: bool = False) -> None:
        # For comparing: every scope is compared whole, however large.
        self._is_exact = is_exact

    def search(
        self, query: Vectors, scope: VectorScope, limit: int, *, centred: bool = False
    ) -> SearchResult:
        with _reading() as cursor:
            sizes = pg_counts.of(cursor, scope, len(query))
            if not sizes.scope:
                return SearchResult([], 0)
            count = sizes.workspace if centred else None
            mean = pg_mean.of(cursor, scope, len(query), count)
            question = Question(query, mean, centred)
            search = _Search(cursor, scope, question, limit)
            return search.exact_result() if self._is_exact else search.result(sizes)

    def nearest(
        self, query: Vectors, scope: VectorScope, limit: int, min_cosine: float
    ) -> list[VectorHit]:
        with _reading() as cursor:
            sizes = pg_counts.of(cursor, scope, len(query))
            if not sizes.scope:
                return []
            mean = pg_mean.of(cursor, scope, len(query))
            search = _Search(cursor, scope, Question(query, None, centred=True), limit)
            rows = search.rows(sizes)
        hits = Question(query, mean, centred=False).hits(rows)
        close = [hit for hit in hits if hit.cosine >= min_cosine]
        return sorted(close, key=lambda hit: (-hit.cosine, hit.entry_id))[:limit]

    def of(
        self, query: Vectors, scope: VectorScope, entry_ids: list[str]
    ) -> dict[str, VectorHit]:
        if not entry_ids:
            return {}
        text, params = pg_scope.workspace(scope, len(query))
        # Without their moments: they come in no order.
        sql = (
            "SELECT entry_id, 0, importance, halfvec_send(vec)"  # noqa: S608
            f" FROM journal_vectors v WHERE {text} AND v.is_ranked"
            " AND v.entry_id = ANY(%s)"
        )
        with recall_database.connection().cursor() as cursor:
            mean = pg_mean.of(cursor, scope, len(query))
            rows = pg_scope.rows(cursor, sql, [*params, entry_ids])
        hits = Question(query, mean, centred=False).measured(rows)
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
        with _reading() as cursor:
            mean = pg_mean.of(cursor, scope, len(query)) if centred else None
            question = Question(query, mean, centred)
            values_sql, params = _values(scope, question)
            rows = pg_scope.rows(
                cursor,
                f"WITH near AS MATERIALIZED ({values_sql}), own AS"  # noqa: S608
                " (SELECT value FROM near WHERE entry_id = %s), above AS"
                " (SELECT count(*) AS size FROM near, own"
                " WHERE near.value > own.value + %s), beside AS"
                " (SELECT near.entry_id FROM near, own WHERE"
                " abs(near.value - own.value) <= %s)"
                f" SELECT v.entry_id, {_MOMENT.format(ts='v.ts')}, v.importance,"
                " halfvec_send(v.vec), above.size FROM beside"
                " JOIN journal_vectors v ON v.workspace_id = %s"
                " AND v.entry_id = beside.entry_id, above",
                [*params, entry_id, SLACK, SLACK, scope.workspace_id],
            )
        ids = [hit.entry_id for hit in question.hits(rows)]
        return int(rows[0][4]) + ids.index(entry_id) + 1 if rows else None


def candidates(vectors: int) -> int:
    """Return how many candidates an index of so many vectors is searched with."""
    count = vectors // VECTORS_FOR_A_CANDIDATE
    return min(MOST_CANDIDATES, max(LEAST_CANDIDATES, count))


def _values(scope: VectorScope, question: Question) -> Sql:
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
        self, cursor: CursorWrapper, scope: VectorScope, question: Question, limit: int
    ) -> None:
        self._cursor, self._scope, self._question = cursor, scope, question
        self._limit = limit

    def _row_count(self) -> int:
        """Return how many vectors the index has to bring."""
        share = CENTRED_SHARE if self._question.centred else PRODUCT_SHARE
        return self._limit * share

    def result(self, sizes: Sizes) -> SearchResult:
        """Return the best of a scope."""
        size = sizes.scope
        if pg_scope.has_moments(self._scope) and self._is_large(sizes):
            size = self._count()
            sizes = replace(sizes, scope=size)
        if self._is_large(sizes) and (rows := self._approximate(sizes)):
            hits = self._question.hits(rows)[: self._limit]
            highest = self._question.order(hits[0])
            low, middle, smallest = rows[0][5:8]
            lowest = lowest_of(low, middle, smallest, size)
            return SearchResult(hits, size, min(lowest, highest), highest)
        return self.exact_result()

    def exact_result(self) -> SearchResult:
        """Return the best of a scope, each of it compared."""
        rows = self._exact()
        if not rows:
            return SearchResult([], 0)
        size, lowest, _ = rows[0][4:]
        hits = self._question.hits(rows)[: self._limit]
        highest = self._question.order(hits[0])
        if size <= len(hits):
            lowest = self._question.order(hits[-1])
        return SearchResult(hits, size, min(lowest, highest), highest)

    def rows(self, sizes: Sizes) -> list[Row]:
        """Return the best rows of a scope, and some more."""
        rows = self._approximate(sizes) if self._is_large(sizes) else []
        return rows or self._exact()

    def _is_large(self, sizes: Sizes) -> bool:
        """Whether the index is quicker, with what it meets between those in scope."""
        if self._question.dim not in pg_scope.INDEXED_DIMS or not sizes.scope:
            return False
        visited = self._row_count() * sizes.among / sizes.scope
        return sizes.scope > ENTRY_COST + VISIT_COST * visited

    def _count(self) -> int:
        where, params = pg_scope.comparable(self._scope, self._question.dim)
        sql = f"SELECT count(*) FROM journal_vectors v WHERE {where}"  # noqa: S608
        return int(pg_scope.rows(self._cursor, sql, params)[0][0])

    def _exact(self) -> list[Row]:
        """Return the best rows of all, each with how many there are, and the ends."""
        values_sql, params = _values(self._scope, self._question)
        return pg_scope.rows(
            self._cursor,
            f"WITH near AS MATERIALIZED ({values_sql}), ends AS"  # noqa: S608
            " (SELECT count(*) AS size, min(value) AS low, max(value) AS high"
            f" FROM near), best AS (SELECT * FROM near {_ORDER} LIMIT %s)"
            f" SELECT best.entry_id, {_MOMENT.format(ts='best.ts')}, v.importance,"
            " halfvec_send(v.vec), size, low, high FROM best"
            " JOIN journal_vectors v ON v.workspace_id = %s"
            " AND v.entry_id = best.entry_id, ends",
            [*params, self._limit + SPARE, self._scope.workspace_id],
        )

    def _approximate(self, sizes: Sizes) -> list[Row]:
        """Return good rows from the index; none where it brings fewer than it should.

        Each has how many it brought, and what a sample of the workspace is like.
        """
        question, dim = self._question, self._question.dim
        where, params = pg_scope.comparable(self._scope, dim)
        value, values = question.value()
        row_count = self._row_count()
        sampled, sample_params = self._sampled(value, values)
        settings = SETTINGS | {"hnsw.ef_search": str(candidates(sizes.among))}
        self._cursor.execute(_SET, [part for pair in settings.items() for part in pair])
        rows = pg_scope.rows(
            self._cursor,
            "WITH near AS MATERIALIZED ("  # noqa: S608
            "SELECT v.entry_id, v.ts, v.importance, v.vec FROM journal_vectors v"
            f" WHERE {where} ORDER BY v.vec::halfvec({dim}) <=> %s::halfvec({dim})"
            f" LIMIT %s), best AS (SELECT *, {value} AS value, count(*) OVER () AS size"
            f" FROM near v {_ORDER} LIMIT %s), sampled AS ({sampled})"
            f" SELECT {_ROW}, size, low, middle, least FROM best, sampled",
            [
                *(*params, question.towards, row_count, *values),
                *(self._limit + SPARE, *sample_params),
            ],
        )
        return rows if rows and rows[0][4] >= row_count else []

    def _sampled(self, value: str, values: list[Any]) -> Sql:
        """Return a query of how values are spread in some of the workspace."""
        where, params = pg_scope.workspace(self._scope, self._question.dim)
        sql = (
            "SELECT percentile_cont(%s) WITHIN GROUP (ORDER BY value) AS low,"  # noqa: S608
            " percentile_cont(0.5) WITHIN GROUP (ORDER BY value) AS middle,"
            f" min(value) AS least FROM (SELECT {value} AS value"
            f" FROM journal_vectors v WHERE {where} AND v.is_ranked"
            " ORDER BY v.entry_id LIMIT %s) AS part"
        )
        return sql, [_LOW, *values, *params, SAMPLED]


def lowest_of(low: float, middle: float, smallest: float, size: int) -> float:
    """Return about where the least of so many values lies, from those of a sample.

    Below the middle they are spread as a normal distribution; above it are those near
    the question, which say nothing of the far end. ``low`` is above a tenth of them.
    """
    normal = NormalDist()
    deviation = (low - middle) / normal.inv_cdf(_LOW)
    return max(-1.0, min(smallest, middle + deviation * normal.inv_cdf(1 / (size + 1))))

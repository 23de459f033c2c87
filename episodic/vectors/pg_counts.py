"""How many vectors a scope compares on PostgreSQL, without counting them.

Triggers write what each statement adds and removes as rows; a scope's number is their
sum, in the snapshot of who asks. A sweep folds the rows of a workspace into one for
each of its crews, agents and types.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from episodic.vectors import pg_scope, pg_store
from episodic.vectors.base import VectorScope

_GROUP: Final = "workspace_id, model, dim, crew_id, agent_id, entry_type"
# From so many rows that stand for one group on, folding is worth its writing.
CROWDED: Final = 8
LEAST_ROWS: Final = 1_000
_LAST: Final = "SELECT last_value FROM journal_vector_counts_id_seq"
_CROWDED: Final = (
    "SELECT workspace_id FROM journal_vector_counts GROUP BY workspace_id"  # noqa: S608
    f" HAVING count(*) >= %s AND count(*) >= %s * count(DISTINCT ({_GROUP}))"
)
# Rows that somebody is writing are not seen, and stay.
_FOLD: Final = (
    "WITH taken AS (DELETE FROM journal_vector_counts WHERE workspace_id = %s"  # noqa: S608
    f" RETURNING {_GROUP}, added)"
    f" INSERT INTO journal_vector_counts ({_GROUP}, added)"
    f" SELECT {_GROUP}, sum(added) FROM taken GROUP BY {_GROUP} HAVING sum(added) <> 0"
)
# Another with every vector that a workspace gets or loses, for reading a replica. The
# sum, because a row with a lower number may be committed after one with a higher.
MARK: Final = (
    "SELECT COALESCE(sum(id), 0) FROM journal_vector_counts WHERE workspace_id = %s"
)
# The number of a table's rows that its last vacuum saw, −1 before the first.
_SIZES: Final = (
    "SELECT COALESCE(sum(v.added) FILTER (WHERE {owned}), 0),"
    " COALESCE(sum(v.added), 0),"
    " (SELECT reltuples FROM pg_class WHERE oid = to_regclass(%s))"
    " FROM journal_vector_counts v WHERE {workspace}"
)


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many vectors there are: in scope, its times aside, and around it.

    ``among`` is about how many share an index with them.
    """

    scope: int
    workspace: int
    among: int


def of(cursor: CursorWrapper, scope: VectorScope, dim: int) -> Sizes:
    """Return how many vectors a scope compares, and among how many."""
    owned, workspace = pg_scope.owned(scope, dim), pg_scope.workspace(scope, dim)
    sql = _SIZES.format(owned=owned[0], workspace=workspace[0])
    params = [*owned[1], _partition(scope.workspace_id), *workspace[1]]
    [[in_scope, total, rows]] = pg_scope.rows(cursor, sql, params)
    return Sizes(int(in_scope), int(total), max(int(total), int(rows or 0)))


@lru_cache(maxsize=4_096)
def _partition(workspace_id: str) -> str:
    return pg_store.partition(workspace_id)


class _Folded:
    """Up to which number this process looked for counts to fold."""

    number = 0


def fold_when_due() -> int:
    """Fold when there are many new rows; finding none costs next to nothing."""
    if not pg_store.is_used():
        return 0
    with connection.cursor() as cursor:
        [[number]] = pg_scope.rows(cursor, _LAST, [])
    if abs(number - _Folded.number) < LEAST_ROWS:
        return 0
    _Folded.number = number
    return fold()


def fold() -> int:
    """Fold the counts of every workspace that has many; return how many workspaces."""
    with connection.cursor() as cursor:
        crowded = pg_scope.rows(cursor, _CROWDED, [LEAST_ROWS, CROWDED])
        for (workspace_id,) in crowded:
            with transaction.atomic():
                cursor.execute(_FOLD, [workspace_id])
    return len(crowded)

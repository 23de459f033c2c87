"""How many vectors a scope compares on PostgreSQL, without counting them.

Triggers write what each statement adds and removes as rows; a scope's number is their
sum, in the snapshot of who asks. A sweep folds the rows of a workspace into one for
each of its crews, agents and types.
"""

from __future__ import annotations

from typing import Final

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from episodic.vectors import pg_scope
from episodic.vectors.base import VectorScope

_GROUP: Final = "workspace_id, model, dim, crew_id, agent_id, entry_type"
# From so many rows that stand for one group on, folding is worth its writing.
CROWDED: Final = 8
LEAST_ROWS: Final = 1_000
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


def of(cursor: CursorWrapper, scope: VectorScope, dim: int) -> int:
    """Return how many vectors a scope compares, its times aside."""
    return _sum(cursor, pg_scope.owned(scope, dim))


def of_workspace(cursor: CursorWrapper, scope: VectorScope, dim: int) -> int:
    """Return how many vectors of the scope's model its workspace compares."""
    return _sum(cursor, pg_scope.workspace(scope, dim))


def _sum(cursor: CursorWrapper, where: pg_scope.Sql) -> int:
    sql = f"SELECT COALESCE(sum(v.added), 0) FROM journal_vector_counts v WHERE {where[0]}"  # noqa: S608, E501
    return int(pg_scope.rows(cursor, sql, where[1])[0][0])


def fold() -> int:
    """Fold the counts of every workspace that has many; return how many workspaces."""
    if connection.vendor != "postgresql":
        return 0
    with connection.cursor() as cursor:
        crowded = pg_scope.rows(cursor, _CROWDED, [LEAST_ROWS, CROWDED])
        for (workspace_id,) in crowded:
            with transaction.atomic():
                cursor.execute(_FOLD, [workspace_id])
    return len(crowded)

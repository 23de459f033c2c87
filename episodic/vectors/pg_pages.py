"""How full the pages of vectors are on PostgreSQL, by the length of the vectors.

Importance changes every night. The new version of a row stays on its page, and no index
hears of it, while there is room for it; so a page is left to have room for one row.
"""

from __future__ import annotations

from typing import Final

from django.db import connection

from episodic.vectors import pg_scope, pg_store

# Such a share leaves no room for an eighth row of 384 numbers, and seven fit with ids
# and names of any usual length. Of 768 three fit, of 1,024 two.
FILLFACTORS: Final = {384: 87, 768: 80, 1_024: 80}
OTHER: Final = 80
_IS_SET: Final = (
    "SELECT count(*) FROM pg_class WHERE oid = %s::regclass AND %s = ANY(reloptions)"
)


def fit(workspace_id: str, dim: int | None) -> None:
    """Have new pages of a workspace's vectors filled as their length wants it."""
    if not pg_store.is_used() or not dim:
        return
    name = pg_store.partition(workspace_id)
    option = f"fillfactor={FILLFACTORS.get(dim, OTHER)}"
    with connection.cursor() as cursor:
        [[is_set]] = pg_scope.rows(cursor, _IS_SET, [name, option])
        if not is_set:
            cursor.execute(f"ALTER TABLE {name} SET ({option})")

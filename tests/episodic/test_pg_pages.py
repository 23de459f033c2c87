"""On PostgreSQL pages of vectors are filled as the length of the vectors wants it."""

from __future__ import annotations

import pytest
from django.db import connection

from episodic.vectors import pg_pages, pg_store
from tests.world import World

pytestmark = pytest.mark.postgres


def _options(name: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT reloptions FROM pg_class WHERE relname = %s", [name])
        return list(cursor.fetchone()[0])


def test_pages_follow_the_length_of_the_vectors(world: World) -> None:
    name = pg_store.partition(world.acme.id)
    usual, long = (384, "fillfactor=87"), (1_024, "fillfactor=80")
    for dim, option in (usual, long, usual):
        pg_pages.fit(world.acme.id, dim)
        assert _options(name) == [option]


def test_without_a_length_they_stay(world: World) -> None:
    pg_pages.fit(world.acme.id, 384)
    pg_pages.fit(world.acme.id, None)
    assert _options(pg_store.partition(world.acme.id)) == ["fillfactor=87"]

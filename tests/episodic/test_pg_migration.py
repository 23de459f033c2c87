"""The table of vectors is filled from what an installation has, and taken back."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from django.core.management import call_command
from django.db import connection

from episodic.embedders.hashing import HashingEmbedder
from episodic.index import engine
from episodic.models import Embedding, State
from episodic.vectors import stored
from episodic.vectors.base import SearchResult, VectorScope
from tests.world import World

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
]
BEFORE = "0005_memory_map"


def _migrate(name: str) -> None:
    call_command("migrate", "episodic", name, verbosity=0)


@pytest.fixture(autouse=True)
def latest() -> Iterator[None]:
    """Leave the tables of today, whatever happened."""
    yield
    call_command("migrate", verbosity=0)


def _search(world: World) -> SearchResult:
    scope = VectorScope(workspace_id=world.acme.id, model="hashing-512-v1")
    return engine.vectors().search(HashingEmbedder().embed_query("refund"), scope, 9)


def test_vectors_move_to_their_table_and_back(world: World) -> None:
    rows = [world.indexed(f"refund {n}") for n in range(5)]
    withheld_id = rows[0].pk
    Embedding.objects.filter(pk=withheld_id).update(state=State.WITHHELD)
    ids, before = [row.pk for row in rows], _search(world)
    vectors = stored.vectors(world.acme.id, ids)

    _migrate(BEFORE)
    blobs = dict(Embedding.objects.values_list("pk", "vector"))
    for entry_id, vector in vectors.items():
        stored_vector = np.frombuffer(bytes(blobs[entry_id]), dtype="<f4")
        assert stored_vector @ vector == pytest.approx(1, abs=1e-3)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM journal_embeddings WHERE vec IS NOT NULL")
        assert cursor.fetchone() == (5,)
        # One that was embedded while pgvector had no part in it.
        cursor.execute("UPDATE journal_embeddings SET vec = NULL")

    _migrate("0006_vector_table")
    assert set(Embedding.objects.values_list("vector", flat=True)) == {memoryview(b"")}
    assert _search(world) == before
    assert before.considered == 4
    vectors_now = stored.vectors(world.acme.id, ids)
    assert vectors_now.keys() == vectors.keys()
    for entry_id, vector in vectors.items():
        assert vectors_now[entry_id] == pytest.approx(vector, abs=1e-6)
    Embedding.objects.filter(pk=withheld_id).update(state=State.INDEXED)
    assert _search(world).considered == 5

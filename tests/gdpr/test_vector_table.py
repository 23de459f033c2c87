"""PostgreSQL's table of vectors is searched and rewritten with the embeddings."""

from __future__ import annotations

import json

import numpy as np
import pytest
from django.db import connection

from episodic.models import Embedding
from episodic.vectors import stored
from gdpr.data_map import registry
from gdpr.data_map.index import VECTOR_BYTES
from gdpr.verification import expected_words, raw_rows
from memory.journal import erasure
from tests.gdpr import kit
from tests.world import World

pytestmark = [pytest.mark.postgres, pytest.mark.django_db]
VECTORS = next(holder for holder in registry.ALL if holder.name == "vectors")


def _partition_of(entry_id: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tableoid::regclass::text FROM journal_vectors WHERE entry_id = %s",
            [entry_id],
        )
        return str(cursor.fetchone()[0])


def test_the_workspaces_partition_is_rewritten_and_no_other(world: World) -> None:
    row = world.indexed("refund")
    tables = VECTORS.stored_in(world.acme.id)
    assert tables == {
        "journal_embeddings",
        "journal_vector_counts",
        _partition_of(row.id),
    }


def test_a_vector_that_its_embedding_left_behind_is_a_trace(world: World) -> None:
    anna = kit.subject(world)
    row = world.indexed("refund")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        Embedding.objects.filter(pk=row.pk).delete()
        cursor.execute("SET LOCAL session_replication_role = origin")
    erasure.erase(world.acme.id, [row.id])
    assert kit.traces(anna, "vectors") == ["vectors vector"]


def test_an_erased_entry_leaves_none(world: World) -> None:
    row, other = world.indexed("refund"), world.indexed("parcel")
    erasure.erase(world.acme.id, [row.id])
    assert stored.vectors(world.acme.id, [row.id, other.id]).keys() == {other.id}


def test_the_bytes_that_are_sought_are_those_on_the_disk(world: World) -> None:
    row = world.indexed("refund")
    person = registry.person(kit.subject(world))
    [token] = VECTORS.tokens(person, [row.id])
    with connection.cursor() as cursor:
        cursor.execute("SELECT vec::text FROM journal_vectors")
        numbers = json.loads(cursor.fetchone()[0])
    assert token == np.array(numbers, dtype="<f2").tobytes()[:VECTOR_BYTES]


def test_raw_rows_of_other_workspaces_are_left_out(world: World) -> None:
    row, foreign = world.indexed("refund"), world.indexed("refund", by="olga")
    names = [table.name for table in raw_rows.tables()]
    assert "journal_vectors" in names
    assert not [name for name in names if name.startswith("journal_vectors_")]
    [table] = [t for t in raw_rows.tables() if t.name == "journal_vectors"]
    texts = [
        text
        for batch in raw_rows.batches(table, frozenset(), world.acme.id, "")
        for text in batch.texts
    ]
    assert any(row.id in text for text in texts)
    assert not any(foreign.id in text for text in texts)


def test_the_numbers_of_a_vector_are_no_words(world: World) -> None:
    row = world.indexed("refund")
    text = b"".join(expected_words._postgres_texts())
    assert row.id.encode() in text
    with connection.cursor() as cursor:
        cursor.execute("SELECT vec::text FROM journal_vectors")
        [numbers] = cursor.fetchone()
    assert numbers[:60].encode() not in text

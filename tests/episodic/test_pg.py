"""The dense ranking on PostgreSQL: the same answers as the exact scan."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from django.db import connection
from django.utils import timezone

from episodic.embedders.base import Vectors
from episodic.embedders.hashing import HashingEmbedder
from episodic.index import engine
from episodic.index import sweep as index
from episodic.models import Embedding
from episodic.vectors import centre, pg_counts, pg_mean, pg_scope, stored
from episodic.vectors.base import SearchResult, VectorScope
from memory.rules.entries import Severity
from tests import factories
from tests.episodic import doubles
from tests.world import World

pytestmark = pytest.mark.postgres
MODEL = "hashing-512-v1"


def search(
    world: World, query: str = "refund", limit: int = 50, **fields: object
) -> SearchResult:
    """Search acme."""
    scope = VectorScope(workspace_id=world.acme.id, model=MODEL, **fields)  # type: ignore[arg-type]
    return engine.vectors().search(HashingEmbedder().embed_query(query), scope, limit)


def exact(world: World, query: str) -> list[tuple[str, float]]:
    """Return ids and scores of acme by numpy, best first."""
    vector = HashingEmbedder().embed_query(query)
    rows = Embedding.objects.filter(workspace=world.acme).select_related("entry")
    vectors_by_id = stored.vectors(world.acme.id, [row.pk for row in rows])
    scored = [
        (
            float(vectors_by_id[row.pk] @ vector) * row.importance_score,
            row.entry.ts,
            row.entry_id,
        )
        for row in rows
    ]
    scored.sort(key=lambda hit: (-round(hit[0], 6), -hit[1].timestamp(), hit[2]))
    return [(entry_id, score) for score, _, entry_id in scored]


def mean_of(scope: VectorScope, *, is_checked: bool = False) -> Vectors | None:
    """Return the mean of a workspace's vectors."""
    with connection.cursor() as cursor:
        count = pg_counts.of(cursor, scope, 512).workspace if is_checked else None
        return pg_mean.of(cursor, scope, 512, count)


def test_the_index_in_use_is_pgvector() -> None:
    assert engine.vectors().name == "pgvector"


def test_the_answer_is_the_exact_one(world: World) -> None:
    texts = [f"refund {'receipt ' * (n % 4)}{n}" for n in range(15)]
    factories.append_many(world.actor("ada"), texts)
    world.entry("refund", severity=Severity.ERROR)
    index.sweep()
    hits = search(world, "refund receipt")
    expected = exact(world, "refund receipt")
    assert {hit.entry_id for hit in hits.hits} == {entry_id for entry_id, _ in expected}
    assert [hit.score for hit in hits.hits] == pytest.approx(
        [s for _, s in expected], abs=1e-5
    )
    assert hits.considered == 16
    assert (hits.highest, hits.lowest) == (hits.hits[0].score, hits.hits[-1].score)
    assert search(world, "refund receipt", 4).hits == hits.hits[:4]


def test_of_and_rank_agree_with_search(world: World) -> None:
    factories.append_many(world.actor("ada"), ["refund one", "refund two", "parcel"])
    index.sweep()
    vectors, query = engine.vectors(), HashingEmbedder().embed_query("refund")
    scope = VectorScope(workspace_id=world.acme.id, model=MODEL)
    hits = vectors.search(query, scope, 9).hits
    assert [vectors.rank(query, scope, hit.entry_id) for hit in hits] == [1, 2, 3]
    assert vectors.of(query, scope, [hit.entry_id for hit in hits]) == {
        hit.entry_id: hit for hit in hits
    }
    assert vectors.rank(query, scope, "j_0000000000000000") is None
    assert vectors.of(query, scope, []) == {}


def test_the_scope_is_in_the_query(world: World) -> None:
    for person in ("ada", "lena", "bob", "olga"):
        world.entry(f"refund by {person}", by=person)
    index.sweep()
    support, bob = world.crews["support"].id, world.agents["bob"].id
    assert search(world).considered == 3
    assert search(world, crew_id=support).considered == 2
    assert search(world, agent_id=bob).considered == 1
    assert search(world, crew_id=support, agent_id=bob).considered == 3
    assert search(world, entry_types=("peer.escalation",)).considered == 3
    assert search(world, entry_types=("x.y",)).considered == 0
    soon = timezone.now() + timedelta(hours=1)
    assert search(world, since=soon).considered == 0
    assert search(world, until=soon).considered == 3


def test_what_was_recorded_later_is_left_out(world: World) -> None:
    row = world.indexed("refund")
    before = row.recorded_at - timedelta(microseconds=1)
    assert search(world, recorded_until=row.recorded_at).considered == 1
    assert search(world, recorded_until=before).considered == 0


def test_centred_cosines_are_seen_from_the_mean(world: World) -> None:
    texts = [f"refund {'receipt ' * (n % 7)}{n}" for n in range(centre.FEWEST - 1)]
    factories.append_many(world.actor("ada"), texts)
    index.sweep()
    vectors, query = engine.vectors(), HashingEmbedder().embed_query("refund receipt")
    scope = VectorScope(workspace_id=world.acme.id, model=MODEL)
    small = vectors.search(query, scope, 9, centred=True).hits
    assert [hit.centred for hit in small] == [hit.cosine for hit in small]
    factories.append_many(world.actor("ada"), [f"parcel {n}" for n in range(20)])
    index.sweep()
    ids = list(
        Embedding.objects.filter(workspace=world.acme).values_list("pk", flat=True)
    )
    vectors_by_id = stored.vectors(world.acme.id, ids)
    mean = np.mean(list(vectors_by_id.values()), axis=0)
    expected = {
        entry_id: float(
            (vector - mean)
            @ (query - mean)
            / np.linalg.norm(vector - mean)
            / np.linalg.norm(query - mean)
        )
        for entry_id, vector in vectors_by_id.items()
    }
    results = vectors.search(query, scope, 100, centred=True)
    assert {hit.entry_id: hit.centred for hit in results.hits} == pytest.approx(
        expected, abs=1e-4
    )
    values = [hit.centred for hit in results.hits]
    assert values == sorted(values, reverse=True)
    assert (results.highest, results.lowest) == (values[0], values[-1])
    plain = {hit.entry_id: hit for hit in vectors.search(query, scope, 100).hits}
    assert plain == {hit.entry_id: hit for hit in results.hits}
    assert vectors.of(query, scope, list(vectors_by_id)) == plain
    last = results.hits[-1].entry_id
    assert vectors.rank(query, scope, last, centred=True) == len(vectors_by_id)


def test_the_mean_is_taken_again_when_a_tenth_is_new(world: World) -> None:
    factories.append_many(world.actor("ada"), [f"refund {n}" for n in range(60)])
    index.sweep()
    scope = VectorScope(workspace_id=world.acme.id, model=MODEL)
    first = mean_of(scope, is_checked=True)
    assert first is not None
    for count, is_taken_again in ((6, False), (1, True)):
        factories.append_many(world.actor("ada"), ["parcel"] * count)
        index.sweep()
        mean = mean_of(scope, is_checked=True)
        assert (mean is not first) == is_taken_again
    pg_mean.clear()
    assert mean_of(scope) is not mean


def test_raw_sql_is_noticed(world: World) -> None:
    row = world.indexed("refund")
    assert len(search(world).hits) == 1
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM journal_embeddings WHERE entry_id = %s", [row.id])
    assert search(world).hits == []


def test_vectors_of_two_models_never_meet(world: World) -> None:
    world.indexed("refund")
    engine.use(doubles.Other())
    world.entry("refund small")
    rows = Embedding.objects.filter(entry__summary="refund small")
    index.discover(world.acme.id)
    index.embed(list(rows.values_list("pk", flat=True)))
    assert search(world).considered == 1
    small = VectorScope(workspace_id=world.acme.id, model="other-8")
    query = doubles.Other().embed_query("refund")
    assert engine.vectors().search(query, small, 9).considered == 1


def test_one_model_with_two_lengths_does_not_break_the_query(world: World) -> None:
    world.indexed("refund")
    engine.use(doubles.Other())
    world.indexed("refund small")
    Embedding.objects.filter(entry__summary="refund small").update(model=MODEL)
    engine.use(None)
    rows = Embedding.objects.filter(entry__summary="refund")
    index.embed(list(rows.values_list("pk", flat=True)))
    hits = search(world, "ada: refund").hits
    assert [hit.cosine for hit in hits] == [pytest.approx(1, abs=1e-5)]


def test_the_vector_column_has_an_index_for_each_family() -> None:
    assert pg_scope.INDEXED_DIMS == (384, 768, 1024)


def test_both_families_are_indexed(world: World) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE indexdef LIKE '%hnsw%'")
        definitions = " ".join(row[0] for row in cursor.fetchall())
    assert "(384)" in definitions
    assert "(768)" in definitions
    assert "(1024)" in definitions

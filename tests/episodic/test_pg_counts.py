"""What a scope considers on PostgreSQL is what is there, whatever was done to it."""

from __future__ import annotations

from typing import Any, Final

import pytest
from django.db import connection
from hypothesis import given, settings
from hypothesis import strategies as st

from episodic.embedders.hashing import HashingEmbedder
from episodic.index import engine
from episodic.index import sweep as index
from episodic.models import Embedding, State
from episodic.vectors import pg_counts, pg_scope, pg_store, stored
from episodic.vectors.base import VectorScope
from memory.rules.entries import RULE_TYPE
from tests.episodic import pg_rows
from tests.episodic.pg_rows import Place
from tests.world import World

pytestmark = [pytest.mark.postgres, pytest.mark.django_db]
VECTOR: Final = pg_rows.unit_vectors(1)
MODELS: Final = ("test-384", "other-384")
places = st.builds(
    Place,
    crew_id=st.sampled_from([None, "crew_a", "crew_b"]),
    agent_id=st.sampled_from([None, "agent_a", "agent_b"]),
    entry_type=st.sampled_from(["memory.recorded", RULE_TYPE]),
    model=st.sampled_from(MODELS),
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), places, st.integers(1, 4), st.booleans()),
        st.tuples(st.just("ranked"), st.integers(0, 30), st.booleans()),
        st.tuples(st.just("model"), st.integers(0, 30), st.sampled_from(MODELS)),
        st.tuples(st.just("gone"), st.integers(0, 30)),
        st.tuples(st.just("fold")),
    ),
    max_size=25,
)
scopes = st.builds(
    VectorScope,
    workspace_id=st.just("ws_a"),
    model=st.sampled_from(MODELS),
    crew_id=st.sampled_from([None, "crew_a"]),
    agent_id=st.sampled_from([None, "agent_a"]),
    rules_crew_id=st.sampled_from([None, "crew_b"]),
    entry_types=st.sampled_from([(), (RULE_TYPE,)]),
    only_crewless=st.booleans(),
)


def _do(number: int, step: tuple[Any, ...]) -> None:
    match step:
        case ("put", place, count, is_ranked):
            rows = VECTOR.repeat(count, axis=0)
            pg_rows.put(rows, place, prefix=f"j_{number:02}_", is_ranked=is_ranked)
        case ("ranked", at, value):
            _update("is_ranked = %s", value, at)
        case ("model", at, value):
            _update("model = %s", value, at)
        case ("gone", at):
            _execute(f"DELETE FROM journal_vectors {_WHERE}", [f"j_{at:02}_%"])
        case ("fold",):
            pg_counts.fold()


_WHERE: Final = "WHERE workspace_id = 'ws_a' AND entry_id LIKE %s"


def _update(change: str, value: object, at: int) -> None:
    _execute(f"UPDATE journal_vectors SET {change} {_WHERE}", [value, f"j_{at:02}_%"])


def _execute(sql: str, params: list[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall()) if cursor.description else []


@settings(max_examples=60)
@given(steps=steps, scope=scopes)
def test_the_sum_is_the_number_of_rows(
    steps: list[tuple[Any, ...]], scope: VectorScope
) -> None:
    _execute("DELETE FROM journal_vectors", [])
    _execute("DELETE FROM journal_vector_counts", [])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pg_counts, "LEAST_ROWS", 1)
        patch.setattr(pg_counts, "CROWDED", 1)
        for number, step in enumerate(steps):
            _do(number, step)
    where, params = pg_scope.comparable(scope, pg_rows.DIM)
    sql = f"SELECT count(*) FROM journal_vectors v WHERE {where}"
    [[count]] = _execute(sql, params)
    with connection.cursor() as cursor:
        assert pg_counts.of(cursor, scope, pg_rows.DIM).scope == count


def test_folding_leaves_one_row_for_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pg_counts, "LEAST_ROWS", 5)
    for number in range(8):
        pg_rows.put(VECTOR, Place(crew_id="crew_a"), prefix=f"j_{number}_")
    pg_rows.put(VECTOR, Place(), prefix="j_9_")
    monkeypatch.setattr(pg_counts, "CROWDED", 5)
    assert pg_counts.fold() == 0
    monkeypatch.setattr(pg_counts, "CROWDED", 4)
    assert pg_counts.fold() == 1
    rows = _execute("SELECT crew_id, added FROM journal_vector_counts ORDER BY 1", [])
    assert rows == [("crew_a", 8), (None, 1)]


def test_what_becomes_of_an_embedding_is_followed(world: World) -> None:
    row = world.indexed("refund")
    scope = VectorScope(workspace_id=world.acme.id, model="hashing-512-v1")
    query = HashingEmbedder().embed_query("refund")

    def considered() -> int:
        return engine.vectors().search(query, scope, 5).considered

    stored = Embedding.objects.filter(pk=row.pk)
    assert considered() == 1
    stored.update(state=State.WITHHELD)
    assert considered() == 0
    stored.update(state=State.INDEXED)
    assert considered() == 1
    stored.update(model="other")
    assert considered() == 0
    stored.update(model="hashing-512-v1", importance_score=0.25)
    [hit] = engine.vectors().search(query, scope, 5).hits
    assert hit.importance == 0.25
    stored.update(dim=0, state=State.PENDING)
    assert considered() == 0
    assert _execute("SELECT * FROM journal_vectors", []) == []
    index.embed([row.pk])
    assert considered() == 1
    stored.delete()
    assert _execute("SELECT * FROM journal_vectors", []) == []


def test_folding_is_looked_for_when_many_are_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pg_counts, "fold", lambda: 1)
    monkeypatch.setattr(pg_counts, "LEAST_ROWS", 4)
    pg_counts.fold_when_due()
    folds = []
    for number in range(8):
        pg_rows.put(VECTOR, Place(), prefix=f"j_{number}_")
        folds.append(pg_counts.fold_when_due())
    assert sum(folds) == 2


def test_vectors_that_were_copied_beside_their_embeddings_move(world: World) -> None:
    rows = [world.indexed(f"refund {n}") for n in range(3)]
    before = stored.vectors(world.acme.id, [row.id for row in rows])
    _execute("DELETE FROM journal_vectors", [])
    for row in rows:
        Embedding.objects.filter(pk=row.pk).update(vector=before[row.id].tobytes())
    assert pg_store.adopt() == 3
    after = stored.vectors(world.acme.id, list(before))
    for entry_id, vector in before.items():
        assert after[entry_id] == pytest.approx(vector, abs=1e-6)
    assert {bytes(row.vector) for row in Embedding.objects.all()} == {b""}
    assert pg_store.adopt() == 0

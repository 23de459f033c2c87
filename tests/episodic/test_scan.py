"""The dense ranking on SQLite: exact, and never stale, whoever changed the table."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from datetime import timedelta

import numpy as np
import pytest
from django.db import connections, transaction
from hypothesis import given
from hypothesis import strategies as st

from episodic.index import change_log, engine
from episodic.index import sweep as index
from episodic.models import Embedding, EmbeddingChange, State
from episodic.vectors import cache, matrix, rows, scan
from episodic.vectors.base import VectorScope
from episodic.vectors.matrix import Batch, Matrix
from memory.models import JournalEntry
from memory.word_index.cache import indexes
from tests import factories, processes
from tests.database import in_another_thread
from tests.episodic import matrices
from tests.world import World

pytestmark = pytest.mark.sqlite
MODEL = "hashing-512-v1"
MICROSECOND = timedelta(microseconds=1)


def hits(world: World, limit: int = 50) -> list[str]:
    """Return the summaries of everything in acme, nearest first."""
    vector = engine.embedder().embed_query("refund")
    answer = engine.vectors().search(vector, VectorScope(
        workspace_id=world.acme.id, model=MODEL
    ), limit)  # fmt: skip
    rows = JournalEntry.objects.in_bulk([hit.entry_id for hit in answer.hits])
    return [rows[h.entry_id].summary for h in answer.hits if h.entry_id in rows]


# ── Fresh ────────────────────────────────────────────────────────────────────
def test_what_was_indexed_after_the_first_query_is_found(world: World) -> None:
    world.indexed("one")
    assert hits(world) == ["one"]
    world.indexed("two")
    assert set(hits(world)) == {"one", "two"}


def test_raw_sql_is_noticed(world: World) -> None:
    row = world.indexed("one")
    other = world.indexed("refund two")
    assert hits(world) == ["refund two", "one"]
    with connections["default"].cursor() as cursor:
        cursor.execute(
            "UPDATE journal_embeddings SET vector ="
            " (SELECT vector FROM journal_embeddings WHERE entry_id = %s)"
            " WHERE entry_id = %s",
            [other.id, row.id],
        )
        cursor.execute(
            "UPDATE journal_embeddings SET importance_score = 1 WHERE entry_id = %s",
            [row.id],
        )
        assert hits(world) == ["one", "refund two"]
        cursor.execute("DELETE FROM journal_embeddings WHERE entry_id = %s", [row.id])
    assert hits(world) == ["refund two"]


@pytest.mark.parametrize(
    "change", [{"state": State.PENDING}, {"model": "x"}, {"dim": 4}]
)
def test_a_row_that_is_no_longer_indexed_disappears(
    world: World, change: dict[str, object]
) -> None:
    row = world.indexed("one")
    assert hits(world) == ["one"]
    Embedding.objects.filter(pk=row.pk).update(**change)
    assert hits(world) == [] or "dim" in change


def test_deleting_the_entry_takes_its_vector_along(world: World) -> None:
    row = world.indexed("one")
    assert hits(world) == ["one"]
    JournalEntry.objects.filter(pk=row.pk).delete()
    assert hits(world) == []


def test_a_vector_of_the_wrong_length_is_left_out(world: World) -> None:
    row = world.indexed("one")
    world.indexed("two")
    Embedding.objects.filter(pk=row.pk).update(vector=b"\x00" * 12)
    assert hits(world) == ["two"]


@pytest.mark.slow
def test_what_another_process_did_is_seen_by_the_next_query(
    shared_world: World,
) -> None:
    row = shared_world.indexed("one")
    assert hits(shared_world) == ["one"]
    key = shared_world.tokens["ada"]
    processes.run(
        "from memory.accounts import api_keys as keys\n"
        "from memory.journal import append as journal\n"
        "from episodic.index import sweep as index\n"
        "from memory.rules.entries import NewEntry\n"
        f"by = keys.authenticate({key!r})\n"
        "journal.append(NewEntry(entry_type='peer.escalation', summary='two'), by=by)\n"
        "print(index.sweep().indexed)"
    )
    assert set(hits(shared_world)) == {"one", "two"}
    processes.run(
        "from django.db import connection\n"
        "with connection.cursor() as c:\n"
        f"    c.execute(\"DELETE FROM journal_embeddings WHERE entry_id = '{row.id}'\")"
    )
    assert hits(shared_world) == ["two"]


def test_a_trimmed_log_makes_a_sleeping_matrix_load_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_log, "KEEP_CHANGES", 5)
    deleted = world.indexed("gone")
    assert hits(world) == ["gone"]
    Embedding.objects.filter(pk=deleted.pk).delete()
    factories.append_many(world.actor("ada"), [f"note {n}" for n in range(20)])
    index.sweep()
    kinds = set(EmbeddingChange.objects.values_list("kind", flat=True))
    assert "trim" in kinds
    assert EmbeddingChange.objects.count() < 15
    assert set(hits(world)) == {f"note {n}" for n in range(20)}
    world.indexed("late")
    assert "late" in hits(world)


def test_many_changes_are_loaded_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "IDS_AT_ONCE", 2)
    world.indexed("one")
    assert hits(world) == ["one"]
    factories.append_many(world.actor("ada"), [f"note {n}" for n in range(5)])
    index.sweep()
    with monkeypatch.context() as patched:
        patched.delattr(cache.CachedMatrix, "_apply")
        assert len(hits(world)) == 6
    Embedding.objects.filter(entry__summary="one").delete()
    assert len(hits(world)) == 5


def test_an_embedding_without_its_place_in_the_chain_is_loaded(world: World) -> None:
    entries = [world.indexed("one"), world.indexed("two")]
    Embedding.objects.filter(pk=entries[0].pk).update(seq=0)
    Embedding.objects.filter(pk=entries[1].pk).update(seq=entries[0].seq)
    scope = VectorScope(workspace_id=world.acme.id, model=MODEL)
    # Indexing loaded one already; this one loads after the change.
    loaded = scan.ScanIndex().view(scope, 512)[0]
    assert loaded.position(entries[0].id) is not None
    assert loaded.position(entries[1].id) is not None


def test_what_was_recorded_later_is_left_out(world: World) -> None:
    row = world.indexed("one")
    query = engine.embedder().embed_query("x")
    for moment, count in ((row.recorded_at, 1), (row.recorded_at - MICROSECOND, 0)):
        scope = VectorScope(
            workspace_id=world.acme.id, model=MODEL, recorded_until=moment
        )
        assert engine.vectors().search(query, scope, 9).considered == count


@pytest.mark.django_db
def test_a_few_entries_are_found_without_reading_the_workspace() -> None:
    named_rows: dict[str, list[str | int]] = {
        rows._OF_IDS + rows._marks(["j_1"] * 9): ["ws_1", MODEL, 4, *["j_1"] * 9],
        rows._VECTORS: ['["j_1"]', "ws_1", MODEL, 4],
    }
    for sql, params in named_rows.items():
        with connections["default"].cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params)
            plan = [step[-1] for step in cursor.fetchall()]
        assert any("SEARCH m" in step and "(entry_id=?)" in step for step in plan)


@pytest.mark.django_db
def test_everything_is_read_in_the_order_it_was_written() -> None:
    with connections["default"].cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {rows._ALL}", ["ws_1", MODEL, 4])
        plan = " ".join(step[-1] for step in cursor.fetchall())
    assert plan.startswith("SEARCH m USING INDEX embedding_of")
    assert "B-TREE" not in plan


def _described(batches: Iterable[Batch]) -> dict[bytes, tuple[object, ...]]:
    """Return what batches say of each entry."""
    return {
        entry_id: (
            *(
                labels.names[codes[n]] if codes[n] >= 0 else None
                for labels in (batch.crews, batch.agents, batch.types)
                for codes in [labels.codes.tolist()]
            ),
            *(int(batch.ts[n]), int(batch.recorded[n]), float(batch.importance[n])),
            batch.vectors[n].tobytes(),
        )
        for batch in batches
        for n, entry_id in enumerate(batch.ids.tolist())
    }


@pytest.mark.parametrize("is_behind", [False, True])
def test_entries_are_the_same_read_by_place_and_by_id(
    world: World, monkeypatch: pytest.MonkeyPatch, *, is_behind: bool
) -> None:
    for number, name in enumerate(("ada", "bob", "ada", "olga")):
        world.indexed(f"note {number}", by=name)
    early = indexes.view(world.acme.id)
    ids = [world.indexed("late", entry_type="peer.escalation").id]
    Embedding.objects.filter(entry__summary="note 2").update(importance_score=0.123)
    if is_behind:
        # The words were read before the last entry was written.
        monkeypatch.setattr(indexes, "view", lambda _: early)
    stored = Embedding.objects.filter(workspace=world.acme, state="indexed")
    ids = list(stored.values_list("entry_id", flat=True))
    by_id = _described([rows.read_ids(world.acme.id, MODEL, 512, ids)])
    by_place = _described(rows.read_all(world.acme.id, MODEL, 512))
    assert by_place == by_id
    assert len(by_place) == len(ids) == 4


def test_exact_vectors_are_read_where_memory_keeps_none(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"refund {'receipt ' * (n % 3)}{n}" for n in range(12)]
    factories.append_many(world.actor("ada"), texts)
    index.sweep()
    query = engine.embedder().embed_query("refund receipt")
    scope = VectorScope(workspace_id=world.acme.id, model=MODEL)
    stored_rows = scan.ScanIndex().search(query, scope, 9)
    monkeypatch.setattr(matrix, "EXACT_BYTES", 0)
    read = scan.ScanIndex()
    assert read.search(query, scope, 9) == stored_rows
    assert read.view(scope, 512)[1].columns.vectors.exact is None
    ids = [hit.entry_id for hit in stored_rows.hits]
    assert read.of(query, scope, ids) == {hit.entry_id: hit for hit in stored_rows.hits}


def test_every_workspace_has_a_matrix_of_its_own(world: World) -> None:
    world.indexed("one", by="ada")
    world.indexed("two", by="olga")
    assert hits(world) == ["one"]


def test_memory_is_bounded_in_bytes(world: World) -> None:
    world.indexed("one", by="ada")
    world.indexed("two", by="olga")
    query = engine.embedder().embed_query("x")
    acme, other = (
        VectorScope(workspace_id=workspace.id, model=MODEL)
        for workspace in (world.acme, world.other)
    )
    single = scan.ScanIndex()
    single.search(query, acme, 9)
    pair = scan.ScanIndex(most_bytes=single.bytes_used * 2)
    smaller = scan.ScanIndex(most_bytes=single.bytes_used * 2 - 1)
    for scope in (acme, other, acme):
        assert len(pair.search(query, scope, 9).hits) == 1
        assert len(smaller.search(query, scope, 9).hits) == 1
    assert pair.bytes_used == 2 * single.bytes_used
    assert pair.holds(acme)
    assert pair.holds(other)
    assert smaller.bytes_used == single.bytes_used
    assert smaller.holds(acme)
    assert not smaller.holds(other)
    pair.clear()
    assert pair.bytes_used == 0


def test_the_only_matrix_stays_whatever_its_size(world: World) -> None:
    world.indexed("one")
    vectors = scan.ScanIndex(most_bytes=1)
    scope = VectorScope(workspace_id=world.acme.id, model=MODEL)
    vectors.search(engine.embedder().embed_query("x"), scope, 9)
    assert vectors.holds(scope)


def test_readers_and_writers_at_once_see_whole_rows(shared_world: World) -> None:
    shared_world.indexed("refund 0")
    faults: list[object] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            try:
                names = hits(shared_world, 200)
                if len(names) != len(set(names)) or "refund 0" not in names:
                    faults.append(names)
            except Exception as error:  # noqa: BLE001
                faults.append(error)
        connections.close_all()

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for n in range(1, 31):
        shared_world.indexed(f"refund {n}")
    stop.set()
    for reader in readers:
        reader.join()
    assert faults == []
    assert len(hits(shared_world, 200)) == 31


# ── Exact ────────────────────────────────────────────────────────────────────
def test_search_of_and_rank_agree(world: World) -> None:
    texts = [f"refund {'receipt ' * (n % 3)}{n}" for n in range(12)]
    factories.append_many(world.actor("ada"), texts)
    index.sweep()
    vectors, query = engine.vectors(), engine.embedder().embed_query("refund receipt")
    scope = VectorScope(workspace_id=world.acme.id, model=MODEL)
    full = vectors.search(query, scope, 100)
    assert full.considered == 12
    ids = [hit.entry_id for hit in full.hits]
    assert [vectors.rank(query, scope, entry_id) for entry_id in ids] == list(
        range(1, 13)
    )
    by_id = vectors.of(query, scope, [*ids, "j_0000000000000000"])
    assert by_id == {hit.entry_id: hit for hit in full.hits}
    assert full.highest == full.hits[0].score
    assert full.lowest == full.hits[-1].score
    assert vectors.rank(query, scope, "j_0000000000000000") is None
    assert vectors.search(query, scope, 5).hits == full.hits[:5]


def test_a_scope_with_nothing_in_it(world: World) -> None:
    world.indexed("one")
    vectors, query = engine.vectors(), engine.embedder().embed_query("x")
    for scope in (
        VectorScope(workspace_id=world.other.id, model=MODEL),
        VectorScope(workspace_id=world.acme.id, model="another"),
        VectorScope(workspace_id=world.acme.id, model=MODEL, agent_id="nobody"),
        VectorScope(workspace_id=world.acme.id, model=MODEL, entry_types=("x.y",)),
    ):
        assert vectors.search(query, scope, 9).hits == []
        assert vectors.of(query, scope, []) == {}
        assert vectors.rank(query, scope, "j_0") is None


# ── Transactions ─────────────────────────────────────────────────────────────
class _Undo(Exception):
    """Rolls a transaction back."""


def test_what_is_rolled_back_is_forgotten(shared_world: World) -> None:
    world = shared_world
    stays = world.indexed("refund stays")
    assert hits(world) == ["refund stays"]
    with pytest.raises(_Undo), transaction.atomic():
        world.indexed("refund goes")
        Embedding.objects.filter(pk=stays.pk).delete()
        assert hits(world) == ["refund goes"]
        raise _Undo
    assert hits(world) == ["refund stays"]


def test_a_change_with_a_number_that_was_rolled_back_is_noticed(
    shared_world: World,
) -> None:
    world = shared_world
    row = world.indexed("refund")
    assert hits(world) == ["refund"]
    with pytest.raises(_Undo), transaction.atomic():
        world.indexed("undone")
        hits(world)
        raise _Undo
    Embedding.objects.filter(pk=row.pk).delete()
    assert hits(world) == []


def test_what_is_seen_in_a_transaction_is_seen_by_others_after_it(
    shared_world: World,
) -> None:
    world = shared_world
    before = world.indexed("before")
    hits(world)
    with transaction.atomic():
        world.indexed("refund")
        Embedding.objects.filter(pk=before.pk).delete()
        assert hits(world) == ["refund"]
        assert in_another_thread(lambda: hits(world)) == ["before"]
        assert hits(world) == ["refund"]
        in_another_thread(lambda: hits(world))
    assert hits(world) == ["refund"]


def test_a_matrix_that_was_loaded_in_a_transaction_is_loaded_again(
    shared_world: World,
) -> None:
    world = shared_world
    row = world.indexed("refund")
    with pytest.raises(_Undo), transaction.atomic():
        Embedding.objects.filter(pk=row.pk).delete()
        assert hits(world) == []
        raise _Undo
    assert hits(world) == ["refund"]


# ── The matrix ───────────────────────────────────────────────────────────────
def numbered(ids: list[str], factor: float) -> Batch:
    """Return entries with vectors that tell which id they belong to."""
    vectors = np.array([[float(e) * factor, 1.0] for e in ids], dtype=np.float32)
    return matrices.batch(ids, vectors.reshape(len(ids), 2))


STEPS = st.lists(
    st.tuples(
        st.booleans(), st.lists(st.integers(0, 30).map(str), unique=True, max_size=12)
    ),
    max_size=25,
)


@given(STEPS)
def test_a_matrix_behaves_like_a_dict(steps: list[tuple[bool, list[str]]]) -> None:
    vectors, model = Matrix(2), {}
    for factor, (puts, ids) in enumerate(steps, 1):
        if puts and ids:
            vectors.put(numbered(ids, factor))
            model.update(dict.fromkeys(ids, factor))
        else:
            vectors.drop(ids)
            for entry_id in ids:
                model.pop(entry_id, None)
    view = vectors.snapshot()
    alive = np.flatnonzero(view.columns.alive[: view.size])
    firsts = view.columns.vectors[alive][:, 0].tolist()
    stored = dict(zip(view.names(alive), firsts, strict=True))
    assert stored == {e: float(e) * factor for e, factor in model.items()}
    assert len(vectors) == len(model)
    assert all(vectors.position(e) is not None for e in model)


def test_a_forgotten_vector_is_wiped_from_memory() -> None:
    vectors = Matrix(2)
    vectors.put(numbered(["1", "2"], 7))
    view = vectors.snapshot()
    vectors.drop(["1"])
    assert matrices.is_wiped(view, 0)
    assert not matrices.is_wiped(view, 1)
    vectors.put(numbered(["2"], 9))
    assert matrices.is_wiped(view, 1)


def test_a_matrix_grows_and_makes_room() -> None:
    vectors = Matrix(2)
    for start in range(0, 2_000, 100):
        ids = [str(n) for n in range(start, start + 100)]
        vectors.put(numbered(ids, 1))
        vectors.drop(ids[:90])
    assert len(vectors) == 200
    assert len(vectors.snapshot().columns.alive) < 1_000


def test_vectors_that_were_not_kept_are_not_exact_in_a_smaller_matrix(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(matrix, "EXACT_BYTES", 1_000 * 2 * 4)
    ids = [str(n) for n in range(1_500)]
    vectors = Matrix(2, len(ids))
    vectors.fill([numbered(ids, 1)])
    vectors.drop(ids[100:])
    vectors.put(numbered(["2000"], 1))
    columns = vectors.snapshot().columns
    assert len(columns.alive) < 1_000
    assert columns.vectors.exact is None

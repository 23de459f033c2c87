"""Entries that may not be used are nowhere to be found, and come back whole."""

from __future__ import annotations

import pytest

from episodic.index import status as index_status
from episodic.index import sweep as index
from episodic.models import Embedding, MemoryRelation, State
from episodic.recall import search as recall
from episodic.recall.request import Mode, Request
from episodic.vectors import stored
from memory.journal import erasure, queries, verify, visibility
from memory.journal.erasure import Remains
from memory.journal.queries import JournalFilter
from memory.models import JournalEntry
from memory.ports import ranker
from memory.ports.ranker import Question
from tests.world import World

pytestmark = pytest.mark.django_db
MARKS = [visibility.retire, visibility.restrict]


def recalled(world: World, mode: Mode = Mode.HYBRID, actor: str = "ada") -> set[str]:
    request = Request(query="refund denied receipt", mode=mode, k=50)
    return {hit.entry.id for hit in recall.search(request, by=world.actor(actor)).hits}


def found_by_words(world: World) -> set[str]:
    question = Question(query="refund denied receipt", limit=50)
    hits = ranker.words_only(question, by=world.actor("ada"))
    return {hit.entry.id for hit in hits}


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("mode", list(Mode))
def test_it_leaves_every_leg_of_recall(world: World, mark: object, mode: Mode) -> None:
    row = world.indexed("Refund denied: no receipt")
    stays = world.indexed("Refund denied: late receipt")
    assert recalled(world, mode) == {row.id, stays.id}
    assert callable(mark)
    assert mark(world.acme.id, [row.id]) == 1
    assert recalled(world, mode) == recalled(world, mode, "operator") == {stays.id}
    assert row.id not in found_by_words(world)
    assert mark(world.acme.id, [row.id]) == 0
    assert mark(world.other.id, [stays.id]) == 0


def vector_of(row: JournalEntry) -> list[float]:
    """Return the stored vector of an entry, empty when it has none."""
    vectors = stored.vectors(row.workspace_id, [row.pk])
    return vectors[row.pk].tolist() if vectors else []


def test_a_restricted_entry_comes_back_with_its_vector(world: World) -> None:
    row = world.indexed("Refund denied: no receipt")
    before = vector_of(row)
    visibility.restrict(world.acme.id, [row.id])
    embedding = Embedding.objects.get(pk=row.pk)
    assert (embedding.state, vector_of(row)) == (State.WITHHELD, before)
    # No sweep brings it back, by whatever name it is asked.
    assert index.sweep().indexed == 0
    index_status.run(world.acme.id, by=world.actor("operator"), entry_ids=[row.id])
    assert Embedding.objects.get(pk=row.pk).state == State.WITHHELD
    assert visibility.lift(world.acme.id, [row.id]) == 1
    back = Embedding.objects.get(pk=row.pk)
    assert (back.state, vector_of(row)) == (State.INDEXED, before)
    assert recalled(world, Mode.DENSE) == {row.id}


def test_both_reasons_have_to_end(world: World) -> None:
    row = world.indexed("Refund denied: no receipt")
    visibility.restrict(world.acme.id, [row.id])
    visibility.retire(world.acme.id, [row.id])
    visibility.lift(world.acme.id, [row.id])
    assert recalled(world) == set()
    assert Embedding.objects.get(pk=row.pk).state == State.WITHHELD


def test_only_its_own_workspace_marks_an_entry(world: World) -> None:
    row, other = world.entry("Refund denied: no receipt"), world.entry("Refund two")
    heard: list[tuple[str, list[str]]] = []

    def listen(*, kind: str, entry_ids: list[str], **_: object) -> None:
        heard.append((kind, list(entry_ids)))

    erasure.entries_left.connect(listen)
    try:
        for mark in MARKS:
            assert mark(world.other.id, [row.id]) == 0
            assert mark(world.acme.id, [row.id]) == 1
        assert visibility.lift(world.other.id, [row.id]) == 0
        assert visibility.lift(world.acme.id, [row.id, "j_unknown"]) == 1
        assert visibility.lift(world.acme.id, [row.id]) == 0
        assert visibility.restrict(world.acme.id, [other.id]) == 1
        assert visibility.lift(world.acme.id, [other.id]) == 1
    finally:
        erasure.entries_left.disconnect(listen)
    row.refresh_from_db()
    assert row.restricted_at is None and row.retired_at is not None
    withheld_entry = [ids for kind, ids in heard if kind == "withheld"]
    assert withheld_entry == [[], [row.id], [], [row.id], [other.id]]
    # The first is retired too, and does not come back.
    assert [ids for kind, ids in heard if kind == "freed"] == [[], [], [], [other.id]]


def test_what_was_never_embedded_waits_too(world: World) -> None:
    row = world.entry("Refund denied: no receipt")
    visibility.restrict(world.acme.id, [row.id])
    assert index.sweep().indexed == 0
    status = index_status.status(world.acme.id, by=world.actor("operator"))
    assert (status.embeddable, status.pending) == (0, 0)
    visibility.lift(world.acme.id, [row.id])
    assert index.sweep().indexed == 1
    assert recalled(world) == {row.id}


def test_lists_show_it_to_whom_they_may(world: World) -> None:
    old, restricted = world.entry("Refund one"), world.entry("Refund two")
    visibility.retire(world.acme.id, [old.id])
    visibility.restrict(world.acme.id, [restricted.id])

    def visible(actor: str, q: str = "") -> set[str]:
        rows = queries.filtered(world.actor(actor), JournalFilter(q=q))
        return set(rows.values_list("pk", flat=True)) & {old.id, restricted.id}

    assert visible("ada") == visible("operator") == {old.id}
    assert visible("compliance") == visible("owner") == {old.id, restricted.id}
    assert visible("ada", "refund") == visible("operator", "refund") == set()
    assert visible("compliance", "refund") == {restricted.id}
    assert world.api("ada").get(f"/journal/{restricted.id}").status == 404
    assert world.api("compliance").get(f"/journal/{restricted.id}").status == 200


def test_the_chain_holds_whatever_is_marked(world: World) -> None:
    row = world.entry("Refund one")
    visibility.retire(world.acme.id, [row.id])
    visibility.restrict(world.acme.id, [row.id])
    assert verify.verify(world.acme.id, by=world.system()).ok


def test_vectors_and_edges_follow_erased_and_redacted_words(world: World) -> None:
    first = world.indexed("Refund denied: no receipt")
    second = world.indexed("Refund denied: no receipt")
    assert MemoryRelation.objects.exists()
    erasure.redact(world.acme.id, {second.id: Remains("Refund [erased]", {}, {}, {})})
    embedding = Embedding.objects.get(pk=second.pk)
    assert (embedding.state, vector_of(second)) == (State.PENDING, [])
    assert not MemoryRelation.objects.exists()
    # The question embeds what waits in its scope.
    assert recalled(world, Mode.DENSE) == {first.id, second.id}
    assert index.sweep().indexed == 0
    erasure.erase(world.acme.id, [first.id])
    assert not Embedding.objects.filter(pk=first.pk).exists()
    assert recalled(world, Mode.DENSE) == {second.id}
    assert JournalEntry.objects.filter(pk=first.pk).exists()

"""Counting what was recalled: exactly, off the request path, never lost silently."""

from __future__ import annotations

import threading

import pytest
from django.db import DatabaseError, connections

from episodic.index import sweep as index
from episodic.index.reference_counts import ReferenceCounts, reference_counts
from episodic.models import Embedding
from episodic.recall import search as recall
from episodic.recall.request import Mode, Request
from tests import factories
from tests.waiting import LIMIT_SECONDS
from tests.world import World


def counts(world: World) -> dict[str, int]:
    """Return what is counted, by summary."""
    rows = Embedding.objects.filter(reference_count__gt=0, workspace=world.acme)
    return dict(rows.values_list("entry__summary", "reference_count"))


def test_exactly_what_was_returned_is_counted(world: World) -> None:
    factories.append_many(world.actor("ada"), [f"refund {n}" for n in range(30)])
    index.sweep()
    answer = recall.search(Request(query="refund", k=4), by=world.actor("ada"))
    assert counts(world) == {}
    assert reference_counts.flush() == 4
    assert counts(world) == {hit.entry.summary: 1 for hit in answer.hits}
    assert reference_counts.flush() == 0


def test_explaining_counts_what_was_returned_and_not_what_was_below(
    world: World,
) -> None:
    factories.append_many(world.actor("ada"), [f"refund {n}" for n in range(9)])
    index.sweep()
    answer = recall.search(
        Request(query="refund", k=2, explain=True), by=world.actor("ada")
    )
    assert len(answer.below) == 7
    reference_counts.flush()
    assert set(counts(world)) == {hit.entry.summary for hit in answer.hits}


@pytest.mark.parametrize("mode", list(Mode))
def test_every_mode_counts(world: World, mode: Mode) -> None:
    world.indexed("refund")
    recall.search(Request(query="refund", mode=mode), by=world.actor("ada"))
    reference_counts.flush()
    assert counts(world) == {"refund": 1}


def test_not_when_asked_not_to(world: World) -> None:
    world.indexed("refund")
    recall.search(Request(query="refund", mark=False), by=world.actor("ada"))
    assert reference_counts.flush() == 0


def test_many_recalls_add_up(world: World) -> None:
    world.indexed("refund")
    for _ in range(3):
        recall.search(Request(query="refund"), by=world.actor("ada"))
    assert reference_counts.flush() == 3
    assert counts(world) == {"refund": 3}
    row = Embedding.objects.get(reference_count=3)
    assert row.last_referenced_at is not None


def test_an_entry_without_an_embedding_is_nothing_to_count(world: World) -> None:
    world.unembedded("refund")
    recall.search(Request(query="refund"), by=world.actor("ada"))
    reference_counts.flush()
    assert counts(world) == {}


def test_what_could_not_be_written_is_tried_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = world.indexed("refund")
    reference_counts.add([row.id])
    with monkeypatch.context() as patch:

        def locked(*_args: object) -> None:
            raise DatabaseError("database is locked")

        patch.setattr(index, "mark_referenced", locked)
        assert reference_counts.flush() == 0
    reference_counts.add([row.id])
    assert reference_counts.flush() == 2
    assert counts(world) == {"refund": 2}


def test_the_thread_writes_by_itself(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("episodic.index.reference_counts.EVERY_SECONDS", 0.01)
    row = shared_world.indexed("refund")
    fresh = ReferenceCounts()
    fresh.add([row.id])
    fresh.add([row.id])
    thread = fresh._thread
    assert thread is not None
    thread.join(LIMIT_SECONDS)
    assert not thread.is_alive()
    assert counts(shared_world) == {"refund": 2}
    fresh.add([row.id])
    second = fresh._thread
    assert second is not None
    assert second is not thread
    second.join(LIMIT_SECONDS)
    connections.close_all()
    assert counts(shared_world) == {"refund": 3}


def test_marks_from_many_threads_are_all_there() -> None:
    fresh = ReferenceCounts()
    fresh._thread = threading.main_thread()

    def work() -> None:
        for _ in range(200):
            fresh.add(["a", "b"])

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert fresh._counts == {"a": 800, "b": 800}


def test_a_reference_as_the_thread_ends_starts_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("episodic.index.reference_counts.EVERY_SECONDS", 0)
    end_event, let_go = threading.Event(), threading.Event()

    class Closing:
        """Connections whose closing takes a while: the thread is still alive."""

        def close_all(self) -> None:
            end_event.set()
            let_go.wait(LIMIT_SECONDS)

    monkeypatch.setattr("episodic.index.reference_counts.connections", Closing())
    counts = ReferenceCounts()
    first = threading.Thread(target=counts._run)
    counts._thread = first
    first.start()
    assert end_event.wait(LIMIT_SECONDS)
    monkeypatch.setattr(counts, "_run", lambda: None)
    counts.add(["j_1"])
    let_go.set()
    first.join()
    assert counts._thread is not first

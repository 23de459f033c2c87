"""Keeping the index: finding, claiming, embedding, setting back, never blocking."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.db import connections
from django.utils import timezone

from episodic import tasks
from episodic.embedders.base import BadAnswer, NotConfigured, TooSlow
from episodic.embedders.none import NoEmbedder
from episodic.index import engine, policy
from episodic.index import status as index_status
from episodic.index import sweep as index
from episodic.models import Embedding, IndexState, State
from episodic.vectors import stored as stored_vectors
from memory.jobs import dispatch
from memory.journal import append as journal
from memory.journal import visibility
from memory.models import Agent, JournalEntry
from memory.ports import ranker
from memory.rules import errors
from memory.rules.entries import Priority, Severity
from tests import factories
from tests.episodic import doubles
from tests.world import World


def states(world: World) -> dict[str, str]:
    """Return the state of every embedding of acme, by summary."""
    rows = Embedding.objects.filter(workspace=world.acme)
    return dict(rows.values_list("entry__summary", "state"))


def due_now() -> None:
    """Let the waiting time of every row be over."""
    Embedding.objects.update(next_attempt_at=timezone.now() - timedelta(seconds=1))


# ── Finding ──────────────────────────────────────────────────────────────────
def test_the_sweep_embeds_what_policy_wants_and_nothing_else(world: World) -> None:
    world.entry("always")
    world.entry("chatter", entry_type="llm.call")
    world.entry("flagged", entry_type="llm.call", refs={"episodic": True})
    world.entry("quiet decision", entry_type="keeper.decision")
    world.entry("loud", entry_type="keeper.decision", severity=Severity.WARN)
    world.entry("metric", entry_type="container.metrics", refs={"episodic": True})
    report = index.sweep()
    assert (report.indexed, report.skipped, report.failed) == (3, 0, 0)
    assert set(states(world)) == {"always", "flagged", "loud"}


def vector_of(row: JournalEntry) -> list[float] | None:
    """Return the stored vector of an entry, None when it has none."""
    vector = stored_vectors.vectors(row.workspace_id, [row.id]).get(row.id)
    return None if vector is None else vector.tolist()


def test_a_vector_has_unit_length(world: World) -> None:
    row = world.indexed("Refund denied", payload={"reason": "receipt lost"})
    stored = Embedding.objects.get(pk=row.id)
    vector = np.array(vector_of(row))
    assert (stored.dim, len(vector), stored.model) == (512, 512, "hashing-512-v1")
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    text = policy.text(f"ada: {row.summary}", row.payload)
    expected = engine.embedder().embed_documents([text])[0]
    assert vector == pytest.approx(expected, abs=1e-4)
    assert (stored.crew_id, stored.agent_id) == (row.crew_id, row.agent_id)
    assert stored.importance_score == pytest.approx(0.70)


def test_a_second_sweep_has_nothing_to_do(world: World) -> None:
    world.indexed()
    before = list(Embedding.objects.values())
    assert index.sweep() == index.Report()
    assert list(Embedding.objects.values()) == before


def test_the_limit_of_a_sweep_holds(world: World) -> None:
    factories.append_many(world.actor("ada"), [f"note {n}" for n in range(10)])
    assert index.sweep(limit=4).indexed == 4
    assert index.sweep(limit=100).indexed == 6


def test_a_progress_display_is_told_each_batch(world: World) -> None:
    factories.append_many(world.actor("ada"), [f"note {n}" for n in range(40)])
    counts: list[int] = []
    index.sweep(watch=counts.append)
    assert counts == [32, 8]


def test_a_new_policy_judges_stored_entries_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = world.entry("chatter", entry_type="llm.call")
    index.sweep()
    assert states(world) == {}
    monkeypatch.setattr(policy, "VERSION", policy.VERSION + 1)
    monkeypatch.setattr(policy, "ALWAYS", policy.ALWAYS | {"llm.call"})
    index.sweep()
    assert states(world) == {"chatter": "indexed"}
    row.refresh_from_db()
    assert row.embeddable


def test_an_entry_appended_later_is_found_from_where_the_sweep_stopped(
    world: World,
) -> None:
    first = world.indexed("one")
    assert IndexState.objects.get(pk=world.acme.id).seq == first.seq
    world.indexed("two")
    assert set(states(world)) == {"one", "two"}


# ── The append never waits for the embedder ──────────────────────────────────
def test_the_append_path_never_calls_the_embedder(
    world: World, django_capture_on_commit_callbacks: Callable[..., Any]
) -> None:
    watched = doubles.Watched()
    engine.use(watched)
    with django_capture_on_commit_callbacks(execute=True):
        world.api("ada").post(
            "/journal", {"entry_type": "peer.escalation", "summary": "x"}
        )
        factories.append_many(world.actor("ada"), ["a", "b"])
    assert watched.threads == set()


def test_a_dead_embedder_does_not_fail_an_append(
    world: World, django_capture_on_commit_callbacks: Callable[..., Any]
) -> None:
    engine.use(doubles.Down())
    with django_capture_on_commit_callbacks(execute=True):
        row = world.entry()
    assert JournalEntry.objects.filter(pk=row.pk).exists()
    assert index.sweep().failed == 1


def test_an_append_asks_for_a_sweep_only_when_there_is_something_to_embed(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Callable[..., Any],
) -> None:
    from crewship_memory.celery import app

    calls: list[int] = []
    monkeypatch.setattr(dispatch, "send", lambda *_, **__: calls.append(1))
    # Two appends of one burst, however slow the machine is.
    monkeypatch.setattr(tasks, "GATHER_SECONDS", 10.0)
    with django_capture_on_commit_callbacks(execute=True):
        world.entry()
    assert calls == []
    app.conf.crewship_delivers = True
    with django_capture_on_commit_callbacks(execute=True):
        world.entry(entry_type="llm.call")
    assert calls == []
    with django_capture_on_commit_callbacks(execute=True):
        world.entry()
        world.entry()
    assert calls == [1]


def test_the_task_sweeps_until_nothing_is_left(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "GATHER_SECONDS", 0)
    factories.append_many(world.actor("ada"), [f"note {n}" for n in range(5)])
    tasks.sweep_soon()
    assert set(states(world).values()) == {"indexed"}


# ── Failing ──────────────────────────────────────────────────────────────────
def test_a_failed_row_waits_longer_each_time_and_ends_as_failed(world: World) -> None:
    row = world.entry()
    engine.use(doubles.Down(TooSlow("The embedder did not answer in time.")))
    waits = []
    for attempt in range(1, 7):
        before = timezone.now()
        assert index.sweep().failed == 1
        stored = Embedding.objects.get(pk=row.id)
        assert stored.next_attempt_at is not None
        waits.append(round((stored.next_attempt_at - before).total_seconds()))
        assert stored.attempts == attempt
        assert stored.state == ("failed" if attempt >= 5 else "pending")
        assert index.sweep() == index.Report()
        due_now()
    assert waits == [5, 10, 20, 40, 80, 160]
    assert stored.last_error == "timeout: The embedder did not answer in time."
    engine.use(None)
    assert index.sweep().indexed == 1
    stored.refresh_from_db()
    assert (stored.state, stored.attempts, stored.last_error) == ("indexed", 0, "")
    assert stored.next_attempt_at is None


def test_the_wait_ends_at_an_hour(world: World) -> None:
    row = world.entry()
    index.discover(world.acme.id)
    Embedding.objects.filter(pk=row.id).update(attempts=999)
    engine.use(doubles.Down())
    before = timezone.now()
    index.sweep()
    stored = Embedding.objects.get(pk=row.id)
    assert stored.next_attempt_at is not None
    assert stored.next_attempt_at - before < timedelta(hours=1, seconds=5)


def test_one_poisonous_text_does_not_hold_back_the_others(world: World) -> None:
    engine.use(doubles.Poisoned("arsenic"))
    factories.append_many(world.actor("ada"), ["one", "arsenic", "two"])
    report = index.sweep()
    assert (report.indexed, report.failed) == (2, 1)
    assert states(world) == {"one": "indexed", "arsenic": "pending", "two": "indexed"}
    assert index.sweep() == index.Report()


def test_a_dead_embedder_is_asked_once_a_sweep_and_not_for_every_batch(
    world: World,
) -> None:
    calls: list[int] = []

    class Counting(doubles.Down):
        def embed_documents(self, texts: Any) -> Any:
            calls.append(len(texts))
            raise self.error

    factories.append_many(world.actor("ada"), [f"note {n}" for n in range(100)])
    engine.use(Counting())
    assert index.sweep().failed == 32
    assert calls == [32]
    assert index.sweep().failed == 32


def test_without_an_embedder_rows_wait_untouched(world: World) -> None:
    world.entry()
    engine.use(NoEmbedder())
    assert index.sweep() == index.Report()
    assert Embedding.objects.get().attempts == 0


def test_a_workspace_with_a_mountain_does_not_starve_another(world: World) -> None:
    factories.append_many(world.actor("ada"), [f"note {n}" for n in range(60)])
    world.entry("small", by="olga")
    index.sweep(limit=8)
    foreign = Embedding.objects.filter(workspace=world.other)
    assert [row.state for row in foreign] == ["indexed"]


def test_rows_that_fail_do_not_stand_before_fresh_ones(world: World) -> None:
    engine.use(doubles.Poisoned("arsenic"))
    factories.append_many(world.actor("ada"), [f"arsenic {n}" for n in range(4)])
    index.sweep()
    due_now()
    factories.append_many(world.actor("ada"), ["a", "b"])
    assert index.sweep(limit=2).indexed == 2


def test_what_changes_between_reading_and_queueing_is_queued_as_it_is_then(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, retired = world.entry("gone"), world.entry("retired")
    judge, now = policy.judge, timezone.now()

    def changing(*args: Any) -> policy.Judgement:
        JournalEntry.objects.filter(pk=gone.pk).update(erased_at=now)
        JournalEntry.objects.filter(pk=retired.pk).update(retired_at=now)
        return judge(*args)

    monkeypatch.setattr(policy, "judge", changing)
    assert index.discover(world.acme.id) == 1
    assert states(world) == {"retired": "withheld"}


# ── Claiming ─────────────────────────────────────────────────────────────────
def test_a_claimed_row_is_nobody_elses_until_the_lease_ends(world: World) -> None:
    row = world.entry()
    index.discover(world.acme.id)
    now = timezone.now()
    assert index.claim([row.id], now) == [row.id]
    assert index.claim([row.id], now) == []
    assert index.sweep() == index.Report()
    later = now + index.LEASE + timedelta(seconds=1)
    assert index.claim([row.id], later) == [row.id]


def test_sweeps_at_once_embed_each_row_once(shared_world: World) -> None:
    embedded: list[str] = []
    lock = threading.Lock()

    class Recording(doubles.Watched):
        def embed_documents(self, texts: Any) -> Any:
            with lock:
                embedded.extend(texts)
            return super().embed_documents(texts)

    engine.use(Recording())
    texts = [f"note {n}" for n in range(60)]
    factories.append_many(shared_world.actor("ada"), texts)

    def work() -> None:
        index.sweep()
        connections.close_all()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    index.sweep()
    assert sorted(embedded) == sorted(f"ada: {text}" for text in texts)
    assert set(states(shared_world).values()) == {"indexed"}


# ── Another model ────────────────────────────────────────────────────────────
@pytest.mark.parametrize("other", [doubles.Other, doubles.Renamed])
def test_another_model_embeds_everything_again_and_no_clock_moves(
    world: World, other: type[Any]
) -> None:
    row = world.indexed()
    Embedding.objects.update(reference_count=7)
    first = Embedding.objects.get(pk=row.id)
    engine.use(other())
    assert index_status.status(world.acme.id, by=world.actor("operator")).indexed == 0
    assert index.sweep().indexed == 1
    second = Embedding.objects.get(pk=row.id)
    assert (second.model, second.dim) == (other.model, other.dim)
    assert len(vector_of(row) or ()) == other.dim
    assert second.indexed_at == first.indexed_at
    assert second.reference_count == 7
    assert second.embedded_at is not None
    assert first.embedded_at is not None
    assert second.embedded_at > first.embedded_at


def test_rows_of_the_old_model_stay_indexed_while_the_new_one_is_down(
    world: World,
) -> None:
    world.indexed()

    class Unavailable(doubles.Down):
        model = "another"

    engine.use(Unavailable())
    assert index.sweep().failed == 1
    assert Embedding.objects.get().state == State.INDEXED


# ── Status, and running by hand ──────────────────────────────────────────────
def test_status_counts_for_the_model_in_use(world: World) -> None:
    engine.use(doubles.Poisoned("arsenic"))
    world.entry("chatter", entry_type="llm.call")
    factories.append_many(world.actor("ada"), ["one", "two", "arsenic"])
    viewer = world.actor("viewer")
    before = index_status.status(world.acme.id, by=viewer)
    assert (before.embeddable, before.indexed, before.pending, before.failed) == (
        3,
        0,
        3,
        0,
    )
    assert before.oldest_pending_seconds is not None
    for _ in range(5):
        index.sweep()
        due_now()
    after = index_status.status(world.acme.id, by=viewer)
    assert (after.embeddable, after.indexed, after.pending, after.failed) == (
        3,
        2,
        0,
        1,
    )
    assert (after.model, after.dim, after.oldest_pending_seconds) == (
        "hashing-512-v1",
        512,
        None,
    )


def test_status_of_one_workspace_knows_nothing_of_another(world: World) -> None:
    world.indexed(by="olga")
    status = index_status.status(world.acme.id, by=world.actor("viewer"))
    assert (status.embeddable, status.indexed) == (0, 0)
    with pytest.raises(errors.NotFound):
        index_status.status(world.other.id, by=world.actor("viewer"))


def test_erased_entries_are_not_counted_as_waiting(world: World) -> None:
    row = world.entry()
    JournalEntry.objects.filter(pk=row.pk).update(erased_at=timezone.now())
    status = index_status.status(world.acme.id, by=world.actor("viewer"))
    assert (status.embeddable, status.pending) == (0, 0)


def test_an_operator_does_not_wait_for_the_next_attempt(world: World) -> None:
    row = world.entry()
    engine.use(doubles.Down())
    index.sweep()
    engine.use(None)
    operator = world.actor("operator")
    assert index_status.run(world.acme.id, by=operator).indexed == 1
    second = index_status.run(world.acme.id, by=operator, entry_ids=[row.id, row.id])
    assert second.indexed == 1
    chatter = world.entry(entry_type="llm.call")
    second_report = index_status.run(world.acme.id, by=operator, entry_ids=[chatter.id])
    assert (second_report.indexed, second_report.skipped) == (0, 1)
    entry = JournalEntry.objects.filter(entry_type="memory.indexed")
    assert entry.count() == 3


def test_running_by_hand_names_only_entries_of_ones_own(world: World) -> None:
    foreign = world.entry(by="olga")
    own = world.entry()
    operator = world.actor("operator")
    for ids in ([foreign.id], [own.id, "j_0000000000000000"]):
        with pytest.raises(errors.NotFound):
            index_status.run(world.acme.id, by=operator, entry_ids=ids)
    assert not Embedding.objects.filter(state=State.INDEXED).exists()
    with pytest.raises(errors.Forbidden):
        index_status.run(world.acme.id, by=world.actor("viewer"))


# ── What the ground floor shows ──────────────────────────────────────────────
def test_the_state_of_an_embedding_as_the_journal_shows_it(world: World) -> None:
    rows = [world.entry("one"), world.entry("two", entry_type="llm.call")]

    def state_of(row: JournalEntry) -> ranker.EmbeddingState:
        return ranker.ranker().states(rows)[row.id]

    assert (state_of(rows[0]).state, state_of(rows[1]).state) == (
        "pending",
        "not_embeddable",
    )
    index.sweep()
    state = state_of(rows[0])
    assert (state.state, state.model, state.dim) == ("indexed", "hashing-512-v1", 512)
    assert state.indexed_at is not None
    assert state.indexed_at.endswith("Z")


@pytest.mark.parametrize("error", [BadAnswer("Bad."), NotConfigured("No model.")])
def test_the_state_tells_of_failing(world: World, error: Any) -> None:
    row = world.entry()
    engine.use(doubles.Down(error))
    index.sweep()
    state = ranker.ranker().states([row])[row.id]
    assert (state.state, state.attempts) == ("pending", 1)
    assert state.last_error == f"{error.reason}: {error}"


def test_marking_before_indexing_sets_the_weight(world: World) -> None:
    row = world.entry(entry_type="llm.call", refs={"episodic": True})
    journal.prioritise(row, Priority.PERMANENT, "", by=world.actor("operator"))
    index.sweep()
    assert Embedding.objects.get(pk=row.id).importance_score == pytest.approx(0.95)


def test_a_new_name_of_the_author_begins_again(world: World) -> None:
    row, other = world.indexed("Refund denied"), world.indexed("Parcel", by="bob")
    withheld_entry = world.indexed("Order cancelled")
    visibility.restrict(world.acme.id, [withheld_entry.id])
    before = vector_of(row)
    Agent.objects.filter(pk=world.agents["ada"].id).update(name="[erased]")
    stored = Embedding.objects.in_bulk([row.id, withheld_entry.id, other.id])
    assert (stored[row.id].state, vector_of(row)) == (State.PENDING, None)
    assert stored[withheld_entry.id].state == State.WITHHELD
    assert vector_of(withheld_entry) is None
    assert stored[other.id].state == State.INDEXED
    assert index.sweep().indexed == 1
    assert vector_of(row) not in (None, before)

"""What a question embeds of its asker's own entries before it searches."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from crewship_memory.celery import app
from episodic.embedders.base import TooSlow, Vectors
from episodic.embedders.hashing import HashingEmbedder
from episodic.embedders.none import NoEmbedder
from episodic.index import engine, waiting
from episodic.index import sweep as index
from episodic.models import Embedding, MemoryRelation, State
from episodic.recall import search as recall
from episodic.recall.request import Mode, Request
from episodic.vectors.base import VectorScope
from memory.installation import identity as installation
from memory.jobs import dispatch
from memory.models import ChainHead, JournalEntry
from tests import factories
from tests.episodic import doubles
from tests.world import World


@pytest.fixture(autouse=True)
def measured() -> Iterator[None]:
    """As if a text had taken a millisecond: four fit into the budget."""
    waiting._note_pace(engine.embedder().model, 0.001)
    yield
    waiting.forget_pace()


def scope(world: World, **reach: Any) -> VectorScope:
    return VectorScope(
        workspace_id=world.acme.id, model=engine.embedder().model, **reach
    )


def own(world: World, agent: str = "ada") -> VectorScope:
    return scope(world, agent_id=world.actor(agent).id)


def indexed() -> set[str]:
    rows = Embedding.objects.filter(state=State.INDEXED)
    return set(rows.values_list("entry__summary", flat=True))


def test_whoever_wrote_it_finds_it_by_meaning_at_once(world: World) -> None:
    row = world.entry("refund denied")
    answer = recall.search(
        Request(query="refund denied", mode=Mode.DENSE), by=world.actor("ada")
    )
    assert [hit.entry.id for hit in answer.hits] == [row.id]
    assert index.sweep() == index.Report()


@pytest.mark.parametrize("is_discovered", [True, False])
def test_entries_of_the_scope_are_embedded_whether_discovered_or_not(
    world: World, is_discovered: bool
) -> None:
    world.entry("of ada")
    world.entry("of bob", by="bob")
    world.entry("chatter", entry_type="llm.call")
    if is_discovered:
        index.discover(world.acme.id)
    assert waiting.embed_for(own(world)) == 1
    assert indexed() == {"of ada"}
    assert waiting.embed_for(own(world)) == 0
    assert waiting.embed_for(scope(world)) == 1
    assert indexed() == {"of ada", "of bob"}


def test_a_crew_scope_has_the_entries_of_the_whole_crew(world: World) -> None:
    rows = [world.entry("of ada"), world.entry("of bob", by="bob")]
    crew_ids = {row.crew_id for row in rows}
    assert sum(waiting.embed_for(scope(world, crew_id=c)) for c in crew_ids if c) == 2


def test_nothing_of_another_workspace_is_touched(world: World) -> None:
    world.entry()
    stranger = VectorScope(workspace_id=world.other.id, model=engine.embedder().model)
    assert waiting.embed_for(stranger) == 0
    assert not Embedding.objects.filter(workspace=world.acme).exists()


def test_only_the_newest_few_are_embedded(world: World) -> None:
    names = [f"note {n}" for n in range(waiting.TEXTS + 3)]
    factories.append_many(world.actor("ada"), names)
    assert waiting.embed_for(own(world)) == waiting.TEXTS
    assert indexed() == set(names[-waiting.TEXTS :])


@pytest.mark.parametrize(
    ("seconds", "count"), [(0.001, 4), (0.015, 2), (0.1, 1), (0.3, 0)]
)
def test_no_more_texts_than_fit_into_the_budget(
    world: World, seconds: float, count: int
) -> None:
    factories.append_many(world.actor("ada"), [f"note {n}" for n in range(6)])
    waiting._note_pace(engine.embedder().model, seconds)
    assert waiting.embed_for(own(world)) == count


def test_a_slow_embedder_is_tried_again_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.entry()
    waiting._note_pace(engine.embedder().model, 9.0)
    assert waiting.embed_for(own(world)) == 0
    monkeypatch.setattr(waiting, "RETRY_SECONDS", -1.0)
    assert waiting.embed_for(own(world)) == 1


def test_what_the_sweep_is_embedding_is_waited_for_and_not_embedded_twice(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = world.entry()
    index.discover(world.acme.id)
    assert index.claim([row.id], timezone.now()) == [row.id]
    naps: list[float] = []

    def sweep_ends(seconds: float) -> None:
        naps.append(seconds)
        index.embed([row.id])

    monkeypatch.setattr(waiting, "BUDGET_SECONDS", 1_000)
    monkeypatch.setattr(time, "sleep", sweep_ends)
    assert waiting.embed_for(own(world)) == 0
    assert (len(naps), indexed()) == (1, {row.summary})


def test_the_wait_for_the_sweep_has_an_end(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = world.entry()
    index.discover(world.acme.id)
    index.claim([row.id], timezone.now())
    monkeypatch.setattr(waiting, "BUDGET_SECONDS", 0)
    assert waiting.embed_for(own(world)) == 0
    assert Embedding.objects.get(pk=row.id).state == State.PENDING


class Broken(HashingEmbedder):
    """Fails with what no embedder should raise."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:  # noqa: ARG002
        raise RuntimeError("The model's library gave up.")


@pytest.mark.parametrize(
    "inner", [NoEmbedder(), doubles.Down(TooSlow("Slow.")), Broken()]
)
def test_without_an_embedder_nothing_fails_and_nothing_counts_as_failed(
    world: World, inner: HashingEmbedder | NoEmbedder
) -> None:
    row = world.entry()
    index.discover(world.acme.id)
    engine.use(inner)
    assert waiting.embed_for(own(world)) == 0
    stored = Embedding.objects.get(pk=row.id)
    assert (stored.state, stored.attempts, stored.last_error, stored.lease_until) == (
        State.PENDING,
        0,
        "",
        None,
    )


def test_an_embedder_that_failed_slowly_is_left_alone_for_a_while(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    world.entry()
    calls: list[int] = []

    def too_slow(*_: object) -> None:
        calls.append(1)
        now[0] += 15
        raise TooSlow("Slow.")

    monkeypatch.setattr(index, "embed_rows", too_slow)
    reach = own(world)
    assert [waiting.embed_for(reach), waiting.embed_for(reach)] == [0, 0]
    assert len(calls) == 1


def test_a_text_that_failed_is_left_to_the_sweep(world: World) -> None:
    row = world.entry("choke")
    engine.use(doubles.Poisoned("choke"))
    assert index.sweep().failed == 1
    Embedding.objects.filter(pk=row.id).update(next_attempt_at=None)
    engine.use(None)
    assert waiting.embed_for(own(world)) == 0


def test_a_backlog_and_what_may_not_be_used_are_left_alone(world: World) -> None:
    old, retired = world.entry("old"), world.entry("retired")
    long_ago = timezone.now() - waiting.RECENT - timedelta(seconds=1)
    JournalEntry.objects.filter(pk=old.pk).update(recorded_at=long_ago)
    JournalEntry.objects.filter(pk=retired.pk).update(retired_at=timezone.now())
    assert waiting.embed_for(own(world)) == 0
    assert indexed() == set()


def test_nothing_is_written_into_another_installations_folder(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.entry()
    monkeypatch.setattr(installation, "problem", lambda: "The keys are not ours.")
    assert waiting.embed_for(own(world)) == 0
    assert not Embedding.objects.exists()


def test_a_question_does_not_wait_for_another_writer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.entry("refund denied")

    def locked(*_: object) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr(index, "claim", locked)
    answer = recall.search(Request(query="refund denied"), by=world.actor("ada"))
    assert [hit.via for hit in answer.hits] == ["words"]


def _copies(row: JournalEntry, count: int) -> None:
    """Write unread copies of the last entry of a chain."""
    last, copies = JournalEntry.objects.latest("seq"), list[JournalEntry]()
    for n in range(1, count + 1):
        entry = copy.copy(row)
        entry.pk, entry.seq = f"j_{last.seq + n:016x}", last.seq + n
        entry.docid = last.docid + n
        copies.append(entry)
    JournalEntry.objects.bulk_create(copies, batch_size=1_000)
    heads = ChainHead.objects.filter(workspace_id=row.workspace_id)
    heads.update(seq=last.seq + count)


def test_a_question_costs_the_same_however_much_waits(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    real = waiting._rows

    def counting(sql: str, *params: str | int) -> list[tuple[Any, ...]]:
        rows = real(sql, *params)
        read.append(len(rows))
        return rows

    monkeypatch.setattr(waiting, "_rows", counting)
    # However slow the machine is.
    monkeypatch.setattr(waiting, "RECENT", timedelta(days=1))
    monkeypatch.setattr(waiting, "_allowed", lambda _model: waiting.TEXTS)
    row, statements = world.entry("refund denied"), list[int]()
    assert waiting.embed_for(own(world)) == 1
    for count in (10, 1_000):
        _copies(row, count)
        for _ in range(2):
            with CaptureQueriesContext(connection) as captured:
                assert waiting.embed_for(own(world)) == waiting.TEXTS
            statements.append(len(captured))
    assert len(set(statements)) == 1
    # The head, what is pending and what is unread.
    assert max(read) <= waiting.LOOK


def test_where_nothing_waits_it_costs_two_queries(world: World) -> None:
    world.indexed()
    reach = own(world)
    with CaptureQueriesContext(connection) as queries:
        assert waiting.embed_for(reach) == 0
    assert len(queries) == 2


def test_similar_entries_are_linked_by_a_worker_or_at_once_without_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages: list[tuple[object, ...]] = []

    def send(*args: object, **_: object) -> bool:
        messages.append(args)
        return True

    monkeypatch.setattr(dispatch, "send", send)
    world.indexed("refund denied")
    second = world.entry("refund denied")
    app.conf.crewship_delivers = True
    assert waiting.embed_for(own(world)) == 1
    assert messages == [(waiting.LINK_TASK, [[second.id]])]
    assert not MemoryRelation.objects.exists()
    assert waiting.link([second.id]) == 1
    app.conf.crewship_delivers = False
    world.entry("refund denied")
    assert waiting.embed_for(own(world)) == 1
    assert MemoryRelation.objects.count() == 3

"""Appending: order, durability, batches, repeats, priorities, who wrote what."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.utils import timezone

from memory.journal import append as journal
from memory.journal import verify
from memory.journal.append import Rejected
from memory.models import (
    ChainHead,
    IdempotencyRecord,
    JournalEntry,
    PriorityChange,
    SubjectMention,
)
from memory.rules import errors, permissions
from memory.rules.entries import NewEntry, Priority
from tests import factories, processes
from tests.waiting import LIMIT_SECONDS
from tests.world import World


def is_whole(world: World) -> bool:
    """Whether the chain of acme verifies."""
    return verify.verify(world.acme.id, by=world.system()).ok


# ── One entry ────────────────────────────────────────────────────────────────
def test_an_entry_is_stored_as_it_was_said(world: World) -> None:
    ada = world.actor("ada")
    when = timezone.now() - timedelta(hours=1)
    row = journal.append(
        NewEntry(
            entry_type="peer.conversation",
            summary="Žluťoučký kůň",
            payload={"b": 1, "a": ["x"]},
            refs={"episodic": False},
            mission_id="m_1",
            trace_id="t_1",
            span_id="s_1",
            ts=when,
        ),
        by=ada,
    )
    row.refresh_from_db()
    assert (row.summary, row.payload_text) == ("Žluťoučký kůň", '{"a":["x"],"b":1}')
    assert (row.mission_id, row.trace_id, row.span_id) == ("m_1", "t_1", "s_1")
    assert row.ts == when.replace(microsecond=when.microsecond // 1000 * 1000)
    assert (row.actor_type, row.actor_id) == ("agent", ada.id)
    assert (row.agent_id, row.crew_id) == (ada.id, ada.crew_id)
    assert (row.severity, row.priority, row.embeddable) == ("info", "normal", False)
    assert row.id.startswith("j_")
    assert len(row.id) == 18


def test_an_agent_cannot_write_as_another(world: World) -> None:
    bob = world.agents["bob"]
    row = world.entry(by="ada", agent_id=bob.id, crew_id=bob.crew_id)
    assert row.agent_id == world.agents["ada"].id
    assert row.crew_id == world.agents["ada"].crew_id


@pytest.mark.parametrize(
    ("fields", "author"),
    [
        ({}, ("system", "system")),
        ({"agent_id": "ag_x"}, ("system", "system")),
        ({"agent_id": "ag_x", "as_agent": True}, ("agent", "ag_x")),
        ({"as_agent": True}, ("agent", "system")),
    ],
)
def test_the_author_is_the_agent_only_where_an_import_says_so(
    world: World, fields: dict[str, Any], author: tuple[str, str]
) -> None:
    row = journal.write([factories.new(**fields)], by=world.system())[0]
    assert (row.actor_type, row.actor_id) == author
    assert row.agent_id == fields.get("agent_id")


def test_people_do_not_append(world: World) -> None:
    before = JournalEntry.objects.count()
    with pytest.raises(errors.Forbidden):
        journal.append(factories.new(), by=world.actor("owner"))
    assert JournalEntry.objects.count() == before


def test_each_entry_follows_the_one_before(world: World) -> None:
    first, second = world.entry(), world.entry()
    assert second.seq == first.seq + 1
    assert second.prev_hash == first.entry_hash
    head = ChainHead.objects.get(pk=world.acme.id)
    assert (head.seq, head.entry_hash) == (second.seq, second.entry_hash)


def test_the_first_entry_of_a_workspace_begins_its_chain(world: World) -> None:
    JournalEntry.objects.filter(workspace=world.other).delete()
    ChainHead.objects.filter(pk=world.other.id).delete()
    first, second = world.entry(by="olga"), world.entry(by="olga")
    assert (first.seq, first.prev_hash) == (1, "")
    assert (second.seq, second.prev_hash) == (2, first.entry_hash)
    head = ChainHead.objects.get(pk=world.other.id)
    assert (head.seq, head.entry_hash) == (2, second.entry_hash)
    assert verify.verify(world.other.id, by=world.actor("stranger")).ok
    assert is_whole(world)


def test_an_appended_row_is_like_one_that_was_read(world: World) -> None:
    row = world.entry(payload={"a": 1})
    read = JournalEntry.objects.get(pk=row.pk)
    assert row._state.adding is read._state.adding is False
    assert row._state.db == read._state.db
    names = {field.attname for field in JournalEntry._meta.concrete_fields}
    for name in names - {"salt", "recorded_at"}:
        assert getattr(row, name) == getattr(read, name), name
    assert bytes(row.salt or b"") == bytes(read.salt or b"") != b""


def test_two_workspaces_have_two_chains(world: World) -> None:
    own, foreign = world.entry(by="ada"), world.entry(by="olga")
    assert own.prev_hash != foreign.prev_hash
    assert own.docid >> 40 == world.acme.number
    assert foreign.docid >> 40 == world.other.number
    assert is_whole(world)


def test_the_signal_comes_after_the_commit(
    world: World, django_capture_on_commit_callbacks: Callable[..., Any]
) -> None:
    heard: list[dict[str, Any]] = []

    def listen(**kwargs: Any) -> None:
        heard.append(kwargs)

    journal.entry_appended.connect(listen)
    try:
        with django_capture_on_commit_callbacks(execute=True):
            world.entry(entry_type="llm.call")
            assert heard == []
    finally:
        journal.entry_appended.disconnect(listen)
    assert [(h["workspace_id"], h["embeddable"]) for h in heard] == [(world.acme.id, 0)]


def test_a_refused_entry_leaves_no_trace(world: World) -> None:
    head = ChainHead.objects.get(pk=world.acme.id).seq
    with pytest.raises(errors.AppError):
        world.entry(" ")
    assert ChainHead.objects.get(pk=world.acme.id).seq == head
    assert is_whole(world)


def test_an_append_rolled_back_leaves_the_chain_whole(world: World) -> None:
    first = world.entry()
    with pytest.raises(RuntimeError), transaction.atomic():
        world.entry()
        raise RuntimeError
    assert world.entry().seq == first.seq + 1
    assert is_whole(world)


# ── People an entry names ────────────────────────────────────────────────────
def test_people_are_kept_once_however_they_are_written(world: World) -> None:
    row = world.entry(subjects=("José Müller", " jose  MULLER ", "j@x.example"))
    mentions = SubjectMention.objects.filter(entry=row)
    assert sorted(mentions.values_list("folded", flat=True)) == [
        "j@x.example",
        "jose muller",
    ]


# ── Batches ──────────────────────────────────────────────────────────────────
def test_a_batch_keeps_its_order_and_reports_what_is_bad(world: World) -> None:
    items: list[NewEntry | Rejected] = [
        factories.new(summary="one"),
        factories.new(summary=" "),
        Rejected(2, "missing", "summary: Field required"),
        factories.new(summary="two", entry_type="Bad"),
        factories.new(summary="three"),
    ]
    result = journal.append_batch(items, by=world.actor("ada"))
    assert [(i, row.summary) for i, row in result.accepted] == [
        (0, "one"),
        (4, "three"),
    ]
    assert [(r.index, r.code) for r in result.rejected] == [
        (1, "empty_summary"),
        (2, "missing"),
        (3, "bad_entry_type"),
    ]
    seqs = [row.seq for _, row in result.accepted]
    assert seqs == [seqs[0], seqs[0] + 1]
    assert is_whole(world)


def test_an_empty_batch_writes_nothing(world: World) -> None:
    head = ChainHead.objects.get(pk=world.acme.id).seq
    assert journal.append_batch([], by=world.actor("ada")).accepted == []
    assert ChainHead.objects.get(pk=world.acme.id).seq == head


# ── Repeats ──────────────────────────────────────────────────────────────────
def act(world: World, key: str, summary: str = "x", by: str = "ada") -> dict[str, Any]:
    """Append under an idempotency key."""
    actor = world.actor(by)

    def write() -> dict[str, Any]:
        return {"id": world.entry(summary, by=by).id}

    return journal.once(key, {"summary": summary}, write, by=actor)


def test_a_repeat_gets_the_first_answer(world: World) -> None:
    first = act(world, "k1")
    count = JournalEntry.objects.count()
    assert act(world, "k1") == first
    assert JournalEntry.objects.count() == count


def test_a_key_with_another_body_is_a_conflict(world: World) -> None:
    act(world, "k1")
    with pytest.raises(errors.Conflict) as caught:
        act(world, "k1", "y")
    assert caught.value.problem_code == "idempotency_mismatch"


def test_another_key_is_another_entry(world: World) -> None:
    first, second = act(world, "k1"), act(world, "k2")
    assert first != second
    assert (act(world, "k1"), act(world, "k2")) == (first, second)


def test_the_same_key_of_another_agent_is_another_key(world: World) -> None:
    assert act(world, "k1") != act(world, "k1", by="lena")
    assert act(world, "k1", by="olga") != act(world, "k1")


def test_the_same_key_in_another_workspace_is_another_key(world: World) -> None:
    # The system has one name everywhere, and so has a person with two memberships.
    answers = [
        journal.once("k1", {}, partial(dict, shop=name), by=actor)
        for name, actor in (
            ("acme", permissions.system(world.acme.id)),
            ("other", permissions.system(world.other.id)),
            ("again", permissions.system(world.acme.id)),
        )
    ]
    assert [answer["shop"] for answer in answers] == ["acme", "other", "acme"]


def test_an_act_that_failed_may_be_tried_again(world: World) -> None:
    def fail() -> dict[str, Any]:
        raise errors.Invalid("no")

    with pytest.raises(errors.Invalid):
        journal.once("k1", {"summary": "x"}, fail, by=world.actor("ada"))
    assert IdempotencyRecord.objects.count() == 0
    assert act(world, "k1")["id"].startswith("j_")


def test_neither_key_nor_body_rest_in_the_record(world: World) -> None:
    act(world, "a very secret key", "a very secret body")
    row = IdempotencyRecord.objects.values().get()
    assert "secret" not in str(row)


# ── Priorities ───────────────────────────────────────────────────────────────
def test_each_step_of_the_ledger_starts_where_the_last_ended(world: World) -> None:
    row = world.entry()
    operator = world.actor("operator")
    for priority in (Priority.HIGH, Priority.PIN, Priority.PIN, Priority.NORMAL):
        journal.prioritise(row, priority, "because", by=operator)
    steps = PriorityChange.objects.filter(entry=row).order_by("number")
    assert [(s.number, s.previous, s.priority) for s in steps] == [
        (1, "normal", "high"),
        (2, "high", "pin"),
        (3, "pin", "normal"),
    ]
    entries = JournalEntry.objects.filter(entry_type="memory.priority_changed")
    assert entries.count() == 3
    assert is_whole(world)


def test_a_priority_keeps_its_reason_up_to_the_limit(world: World) -> None:
    row, reason = world.entry(), "x" * 4_096
    journal.prioritise(row, Priority.PIN, reason, by=world.actor("operator"))
    assert row.priority == "pin"
    step = PriorityChange.objects.get(entry=row)
    assert (step.reason, step.set_by) == (reason, world.actor("operator").label)
    witness = JournalEntry.objects.get(entry_type="memory.priority_changed")
    assert witness.payload == {
        "target_entry_id": row.id,
        "target_entry_type": row.entry_type,
        "previous_priority": "normal",
        "new_priority": "pin",
        "number": 1,
        "reason": reason,
    }
    assert (witness.severity, witness.crew_id) == ("notice", row.crew_id)
    assert witness.refs == {"entry_id": row.id}


def test_setting_the_present_priority_writes_nothing(world: World) -> None:
    row = world.entry()
    step = journal.prioritise(row, Priority.NORMAL, "why", by=world.actor("operator"))
    assert (step.previous, step.priority, step.reason) == ("normal", "normal", "why")
    assert not PriorityChange.objects.filter(entry=row).exists()
    assert not JournalEntry.objects.filter(
        entry_type="memory.priority_changed"
    ).exists()


@pytest.mark.parametrize("actor", ["ada", "lena", "viewer", "compliance", "looker"])
def test_only_operators_mark(world: World, actor: str) -> None:
    row = world.entry()
    with pytest.raises(errors.Forbidden):
        journal.prioritise(row, Priority.PIN, "", by=world.actor(actor))
    row.refresh_from_db()
    assert row.priority == "normal"
    assert not PriorityChange.objects.filter(entry=row).exists()


def test_a_stranger_cannot_even_see_what_to_mark(world: World) -> None:
    row = world.entry()
    with pytest.raises(errors.NotFound):
        journal.prioritise(row, Priority.PIN, "", by=world.actor("stranger"))


def test_a_reason_must_be_text(world: World) -> None:
    with pytest.raises(errors.Invalid):
        journal.prioritise(
            world.entry(), Priority.PIN, "a\x00b", by=world.actor("operator")
        )


# ── Many writers at once ─────────────────────────────────────────────────────
def in_threads(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Run ``work`` side by side; return the answers, and errors as values."""
    answers: list[Any] = [None] * count
    ready = threading.Barrier(count)

    def run(number: int) -> None:
        try:
            ready.wait()
            answers[number] = work(number)
        except Exception as error:  # noqa: BLE001
            answers[number] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_threads_that_append_at_once_get_each_its_number(shared_world: World) -> None:
    head = ChainHead.objects.get(pk=shared_world.acme.id).seq
    rows = in_threads(6, lambda _: [shared_world.entry().seq for _ in range(5)])
    seqs = sorted(seq for row in rows for seq in row)
    assert seqs == list(range(head + 1, head + 31))
    assert is_whole(shared_world)


def test_repeats_at_once_write_once(shared_world: World) -> None:
    answers = in_threads(6, lambda _: act(shared_world, "k1"))
    assert len({answer["id"] for answer in answers}) == 1
    assert JournalEntry.objects.filter(summary="x").count() == 1


def test_operators_who_mark_at_once_leave_one_ledger(shared_world: World) -> None:
    row = shared_world.entry()
    priorities = [Priority.HIGH, Priority.PIN, Priority.PERMANENT]
    operator = shared_world.actor("operator")
    answers = in_threads(
        3, lambda n: journal.prioritise(row, priorities[n], "", by=operator).number
    )
    assert sorted(answers) == [1, 2, 3]
    assert is_whole(shared_world)


@pytest.mark.slow
@pytest.mark.parametrize("batch", ["3", "0"])
def test_two_processes_never_fork_the_chain(shared_world: World, batch: str) -> None:
    head = ChainHead.objects.get(pk=shared_world.acme.id).seq
    token = shared_world.tokens["ada"]
    children = [
        processes.start("tests.memory.appender", token, "40", batch) for _ in range(2)
    ]
    lines = [
        line
        for process in children
        for line in process.communicate(timeout=LIMIT_SECONDS)[0].splitlines()
    ]
    assert [process.returncode for process in children] == [0, 0]
    acknowledged = {
        int(seq): entry_id for seq, entry_id in (line.split() for line in lines)
    }
    assert sorted(acknowledged) == list(range(head + 1, head + 241))
    rows = JournalEntry.objects.filter(workspace=shared_world.acme, seq__gt=head)
    assert dict(rows.values_list("seq", "id")) == acknowledged
    assert is_whole(shared_world)


@pytest.mark.slow
@pytest.mark.parametrize("after", [3, 17, 40])
@pytest.mark.parametrize("batch", ["2", "0"])
def test_what_was_acknowledged_survives_kill_9(
    shared_world: World, after: int, batch: str
) -> None:
    token = shared_world.tokens["ada"]
    writer = processes.start("tests.memory.appender", token, "100000", batch)
    assert writer.stdout is not None
    lines = [writer.stdout.readline() for _ in range(after)]
    writer.kill()
    lines += writer.stdout.readlines()
    writer.wait(timeout=LIMIT_SECONDS)
    writer.stdout.close()
    # The last line may be torn: it was not acknowledged in full.
    acknowledged = {line.split()[1] for line in lines if line.endswith("\n")}
    connection.close()
    rows = JournalEntry.objects.filter(pk__in=acknowledged)
    assert rows.count() == len(acknowledged) >= after
    assert is_whole(shared_world)
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA integrity_check")
            assert cursor.fetchone() == ("ok",)
    shared_world.entry()
    assert is_whole(shared_world)


@pytest.mark.parametrize(
    "entry_type",
    ["memory_gateway.add_failed", "gdpr.erased", "memory.priority_changed"],
)
def test_what_only_the_house_writes_no_agent_can_append(
    world: World, entry_type: str
) -> None:
    ada, new = world.actor("ada"), NewEntry(entry_type=entry_type, summary="Mine")
    with pytest.raises(errors.Invalid) as error:
        journal.append(new, by=ada)
    assert error.value.problem_code == "reserved_type"
    result = journal.append_batch([new], by=ada)
    assert (result.accepted, result.rejected[0].code) == ([], "reserved_type")


def test_a_priority_starts_where_the_ledger_ended_not_where_it_was_read(
    world: World,
) -> None:
    operator, entry = world.actor("operator"), world.entry()
    stale = JournalEntry.objects.get(pk=entry.pk)
    journal.prioritise(entry, Priority.PIN, "", by=operator)
    step = journal.prioritise(stale, Priority.HIGH, "", by=operator)
    assert (step.number, step.previous) == (2, "pin")
    reread = JournalEntry.objects.get(pk=entry.pk)
    reread.priority = Priority.NORMAL.value
    back = journal.prioritise(reread, Priority.NORMAL, "", by=operator)
    assert (back.number, back.previous) == (3, "high")
    entry.refresh_from_db()
    assert entry.priority == "normal"


@pytest.mark.parametrize("reason", ["x" * 4_097, "a\x00b"])
def test_a_priority_takes_no_reason_that_cannot_be_kept(
    world: World, reason: str
) -> None:
    row = world.entry()
    with pytest.raises(errors.Invalid):
        journal.prioritise(row, Priority.PIN, reason, by=world.actor("operator"))
    row.refresh_from_db()
    assert row.priority == Priority.NORMAL.value


def test_who_may_not_append_may_not_append_a_batch(world: World) -> None:
    with pytest.raises(errors.Forbidden):
        journal.append_batch([factories.new()], by=world.actor("viewer"))

"""Appends that wait for SQLite's one writer are committed together, or each alone."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, connections, transaction

from memory.journal import append as journal
from memory.journal import head as chain_head
from memory.journal import verify
from memory.journal.commit_groups import CommitGroups
from memory.models import ChainHead, JournalEntry
from memory.ports import subject_linker
from memory.ports.subject_linker import TextRow
from memory.rules import errors
from memory.rules.entries import NewEntry
from tests import waiting
from tests.world import World

pytestmark = pytest.mark.sqlite


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the summaries of every group, in the order of the journal."""
    sizes: list[list[str]] = []
    insert = journal._insert_group

    def noting(items: Sequence[journal.Pair], head: ChainHead | None) -> None:
        sizes.append([row.summary for row, _ in items])
        insert(items, head)

    monkeypatch.setattr(journal, "_groups", CommitGroups(noting, chain_head.turn))
    return sizes


class Appending:
    """Threads that append one entry each, started one after the other."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.outcomes: dict[str, JournalEntry | Exception] = {}
        self.threads: list[threading.Thread] = []

    def start(self, summary: str, by: str = "ada") -> None:
        """Start one more, and return when it waits."""
        actor, count = self.world.actor(by), len(self.threads) + 1

        def run() -> None:
            new = NewEntry(entry_type="peer.escalation", summary=summary)
            try:
                self.outcomes[summary] = journal.append(new, by=actor)
            except Exception as error:  # noqa: BLE001
                self.outcomes[summary] = error
            finally:
                connections.close_all()

        self.threads.append(threading.Thread(target=run, daemon=True))
        self.threads[-1].start()
        waiting.until(lambda: sum(map(len, journal._groups._open.values())) == count)

    def join(self) -> None:
        for thread in self.threads:
            thread.join(waiting.LIMIT_SECONDS)
            assert not thread.is_alive()


def summaries(world: World) -> list[str]:
    rows = JournalEntry.objects.filter(summary__startswith="note")
    return list(rows.order_by("seq").values_list("summary", flat=True))


def check(world: World) -> None:
    for name in ("operator", "stranger"):
        actor = world.actor(name)
        assert verify.verify(actor.workspace_id, by=actor).ok


def test_who_waits_at_the_same_time_is_committed_together_in_order(
    shared_world: World, groups: list[list[str]]
) -> None:
    signals: list[tuple[str, int]] = []

    def listen(workspace_id: str, embeddable: int, **_: Any) -> None:
        signals.append((workspace_id, embeddable))

    journal.entry_appended.connect(listen)
    appending = Appending(shared_world)
    try:
        with transaction.atomic():
            appending.start("note 0")
            appending.start("note 1", by="olga")
            appending.start("note 2")
            assert not appending.outcomes
        appending.join()
    finally:
        journal.entry_appended.disconnect(listen)
    assert groups == [["note 0", "note 1", "note 2"]]
    acme, other = shared_world.acme.id, shared_world.other.id
    assert sorted(signals) == sorted([(acme, 2), (other, 1)])
    for summary, row in appending.outcomes.items():
        assert isinstance(row, JournalEntry)
        stored = JournalEntry.objects.get(pk=row.pk)
        assert (stored.summary, stored.seq) == (summary, row.seq)
        assert stored.entry_hash == row.entry_hash
    check(shared_world)


def test_an_error_of_one_fails_no_other(
    shared_world: World, groups: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    insert = chain_head.insert

    def refusing(rows: Sequence[JournalEntry]) -> None:
        insert(rows)
        if any(row.summary == "note bad" for row in rows):
            raise IntegrityError

    monkeypatch.setattr(chain_head, "insert", refusing)
    appending = Appending(shared_world)
    with transaction.atomic():
        for summary in ("note 0", "note bad", "note 1"):
            appending.start(summary)
    appending.join()
    assert len(groups) == 1
    assert isinstance(appending.outcomes["note bad"], IntegrityError)
    assert sorted(summaries(shared_world)) == ["note 0", "note 1"]
    check(shared_world)


def test_what_fails_after_the_commit_writes_nothing_twice(
    shared_world: World, groups: list[list[str]]
) -> None:
    def failing(**_: Any) -> None:
        message = "a listener failed"
        raise RuntimeError(message)

    journal.entry_appended.connect(failing)
    appending = Appending(shared_world)
    try:
        with transaction.atomic():
            appending.start("note 0")
            appending.start("note 1")
        appending.join()
    finally:
        journal.entry_appended.disconnect(failing)
    assert summaries(shared_world) == ["note 0", "note 1"]
    assert isinstance(appending.outcomes["note 0"], RuntimeError)
    assert isinstance(appending.outcomes["note 1"], JournalEntry)


def test_a_group_that_is_rolled_back_without_an_error_is_written_alone(
    shared_world: World, groups: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    note = subject_linker.note

    def rolling_back(workspace_id: str, place: str, rows: Sequence[TextRow]) -> None:
        note(workspace_id, place, rows)
        transaction.set_rollback(len(rows) > 1)

    monkeypatch.setattr(subject_linker, "note", rolling_back)
    appending = Appending(shared_world)
    with transaction.atomic():
        appending.start("note 0")
        appending.start("note 1")
    appending.join()
    assert groups == [["note 0", "note 1"]]
    assert sorted(summaries(shared_world)) == ["note 0", "note 1"]
    check(shared_world)


def test_what_was_committed_without_an_answer_is_not_written_again(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = journal._groups.commit

    def unanswered(item: journal.Pair, queue: str) -> bool:
        commit(item, queue)
        return False

    monkeypatch.setattr(journal._groups, "commit", unanswered)
    new = NewEntry(entry_type="peer.escalation", summary="note 0")
    row = journal.append(new, by=shared_world.actor("ada"))
    assert JournalEntry.objects.get(summary="note 0").entry_hash == row.entry_hash
    check(shared_world)


def test_a_turn_that_never_comes_leaves_nobody_waiting(
    shared_world: World, groups: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    database = type(transaction.get_connection())
    begin, connections_begun = database._start_transaction_under_autocommit, list[Any]()

    def locked_once(self: Any) -> None:
        begin(self)
        connections_begun.append(self)
        if len(connections_begun) == 1:
            self._rollback()
            message = "database is locked"
            raise OperationalError(message)

    appending = Appending(shared_world)
    with transaction.atomic():
        name = "_start_transaction_under_autocommit"
        monkeypatch.setattr(database, name, locked_once)
        appending.start("note 0")
        appending.start("note 1")
    appending.join()
    assert isinstance(appending.outcomes["note 0"], OperationalError)
    assert summaries(shared_world) == ["note 1"]
    assert groups == []


def test_a_thread_that_is_stopped_lets_the_others_write(shared_world: World) -> None:
    def stopped(_items: Sequence[str], _head: object) -> None:
        raise SystemExit

    answers: list[bool] = []
    groups = CommitGroups[str, object](stopped, chain_head.turn)

    def lead() -> None:
        with contextlib.suppress(SystemExit):
            groups.commit("first", "")
        connections.close_all()

    threads = [
        threading.Thread(target=lead, daemon=True),
        threading.Thread(
            target=lambda: answers.append(groups.commit("second", "")), daemon=True
        ),
    ]
    with transaction.atomic():
        threads[0].start()
        waiting.until(lambda: len(groups._open[""]) == 1)
        threads[1].start()
        waiting.until(lambda: len(groups._open[""]) == 2)
    for thread in threads:
        thread.join(waiting.LIMIT_SECONDS)
    assert answers == [False]


def test_an_append_inside_a_transaction_ends_with_it(
    shared_world: World, groups: list[list[str]]
) -> None:
    with pytest.raises(errors.Invalid), transaction.atomic():
        shared_world.entry("note 0")
        raise errors.Invalid
    assert (groups, summaries(shared_world)) == ([], [])


def test_an_append_alone_meets_its_own_error(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_rows: object) -> None:
        raise IntegrityError

    monkeypatch.setattr(chain_head, "insert", failing)
    with pytest.raises(IntegrityError):
        shared_world.entry("note 0")
    assert summaries(shared_world) == []

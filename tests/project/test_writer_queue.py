"""The queue before SQLite's one writer."""

from __future__ import annotations

import threading
import time

import pytest
from django.db import OperationalError, connection, transaction

from crewship_memory.sqlite3 import base
from crewship_memory.sqlite3.writer_queue import WriterQueue
from memory.models import Workspace
from tests import waiting

LONG = float(waiting.LIMIT_SECONDS)


def behind(
    line: WriterQueue, names: list[str], order: list[str]
) -> list[threading.Thread]:
    """Put threads in line one after the other; each notes its name and leaves."""
    threads = []
    for number, name in enumerate(names, 1):

        def wait(name: str = name) -> None:
            line.join(name, LONG)
            order.append(name)
            line.leave(name)

        threads.append(threading.Thread(target=wait))
        threads[-1].start()
        until = time.monotonic() + LONG
        while len(line._behind) < number and time.monotonic() < until:
            time.sleep(0.001)
    return threads


def test_who_came_first_writes_first() -> None:
    line, names = WriterQueue(), [f"thread {n}" for n in range(6)]
    order: list[str] = []
    line.join("me", LONG)
    threads = behind(line, names, order)
    assert order == []
    line.leave("me")
    for thread in threads:
        thread.join(LONG)
    assert order == names
    assert line._first is None


def test_only_who_is_first_can_leave() -> None:
    line = WriterQueue()
    order: list[str] = []
    line.join("me", LONG)
    (other,) = behind(line, ["other"], order)
    line.leave("somebody else")
    assert (order, line._first) == ([], "me")
    line.leave("me")
    other.join(LONG)
    assert order == ["other"]


def test_one_that_never_leaves_holds_nobody_up_for_ever() -> None:
    line = WriterQueue()
    line.join("gone", LONG)
    line.join("me", 0.01)
    line.leave("gone")
    assert line._first == "me"
    line.leave("me")
    assert line._first is None


def test_the_first_may_join_again() -> None:
    line = WriterQueue()
    line.join("me", LONG)
    line.join("me", LONG)
    line.leave("me")
    assert line._first is None


@pytest.mark.sqlite
@pytest.mark.django_db(transaction=True)
def test_a_transaction_is_first_in_line_until_it_ends() -> None:
    connection_here = transaction.get_connection()
    line = base.writer_queue(str(connection.settings_dict["NAME"]))
    with transaction.atomic():
        assert line._first is connection_here
        with transaction.atomic():
            Workspace.objects.count()
        assert line._first is connection_here
    assert line._first is None
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        raise ZeroDivisionError
    assert line._first is None
    with transaction.atomic():
        connection.close()
        assert line._first is None


def test_two_who_lose_patience_at_once_both_go_on() -> None:
    line = WriterQueue()
    line.join("me", LONG)
    failures: list[BaseException] = []

    def wait(name: str) -> None:
        try:
            line.join(name, 0.05)
        except BaseException as error:  # noqa: BLE001  (what the test looks for)
            failures.append(error)

    threads = [threading.Thread(target=wait, args=(name,)) for name in ("b", "c")]
    with line._lock:
        # Nobody may look while both wait, and then the first one leaves.
        for thread in threads:
            thread.start()
    until = time.monotonic() + LONG
    while len(line._behind) < 2 and time.monotonic() < until:
        time.sleep(0.001)
    with line._lock:
        time.sleep(0.2)
        line._first, gate = line._behind.popleft()
        gate.release()
        line._first, gate = line._behind.popleft()
        gate.release()
    for thread in threads:
        thread.join(LONG)
    assert failures == []


def test_who_cannot_wait_leaves_the_line() -> None:
    line = WriterQueue()
    assert line.try_join("me", 0)
    assert not line.try_join("another", 0)
    assert (line._first, len(line._behind)) == ("me", 0)
    line.leave("me")
    assert line.try_join("another", 0)


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_may_not_wait_fails_while_another_thread_writes() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL has no single writer")
    line = base.writer_queue(str(connection.settings_dict["NAME"]))
    line.join("another", LONG)
    try:
        with (
            connection.waiting_at_most(0.001),  # type: ignore[attr-defined]
            pytest.raises(OperationalError),
            transaction.atomic(),
        ):
            Workspace.objects.create(slug="never", name="Never")
    finally:
        line.leave("another")
    with transaction.atomic():
        assert not Workspace.objects.filter(slug="never").exists()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        assert cursor.fetchone() == (20_000,)

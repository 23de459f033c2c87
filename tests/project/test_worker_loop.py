"""A worker gives a sign of life only while its loop and its threads work."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from crewship_memory import worker_loop
from crewship_memory.worker_loop import WatchedLoop, WorkerLoop
from crewship_memory.worker_process import PulseThread


class Pool:
    """Keeps what it was handed until a thread is free."""

    def __init__(self) -> None:
        self.tasks: list[Callable[[], None]] = []

    def apply_async(self, act: Callable[[], None]) -> None:
        self.tasks.append(act)

    def work(self) -> None:
        while self.tasks:
            self.tasks.pop()()


def pass_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic() + worker_loop.STUCK_SECONDS + 1
    monkeypatch.setattr(time, "monotonic", lambda: now)


def test_a_loop_that_asks_no_more_is_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, pool = WorkerLoop(), Pool()
    loop.begin()
    loop.ask(pool)
    pool.work()
    assert not loop.is_stuck()
    pass_time(monkeypatch)
    assert loop.is_stuck()
    loop.ask(pool)
    pool.work()
    assert not loop.is_stuck()


def test_threads_that_are_never_free_are_stuck_and_asked_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop, pool = WorkerLoop(), Pool()
    loop.begin()
    loop.ask(pool)
    pass_time(monkeypatch)
    loop.ask(pool)
    assert loop.is_stuck()
    assert len(pool.tasks) == 1


def test_without_a_connection_nothing_is_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, pool = WorkerLoop(), Pool()
    loop.begin()
    loop.ask(pool)
    loop.end()
    pool.work()
    pass_time(monkeypatch)
    assert not loop.is_stuck()


@pytest.mark.django_db
def test_a_stuck_worker_gives_no_sign_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    class Pulse:
        count = 0

        def beat(self) -> None:
            self.count += 1

        def end(self) -> None:
            """Nothing to end."""

    pulse: Any = Pulse()
    thread = PulseThread(pulse)
    waits = iter([False, False, True])
    monkeypatch.setattr(thread.ended, "wait", lambda _seconds: next(waits))
    stuck = iter([True, False])
    monkeypatch.setattr(worker_loop.current, "is_stuck", lambda: next(stuck))
    thread.run()
    # At the start, and once more.
    assert pulse.count == 2


def test_the_loop_of_a_consumer_is_watched_while_it_is_connected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = WorkerLoop()
    monkeypatch.setattr(worker_loop, "current", loop)

    class Consumer:
        """A timer and a pool."""

        def __init__(self) -> None:
            self.timer, self.pool, self.hub = self, Pool(), object()
            self.steps: list[Any] = []
            self.calls: list[Any] = []
            self.is_cancelled = False

        def call_repeatedly(self, *call: Any) -> Any:
            self.calls.append(call)
            return self

        def cancel(self) -> None:
            self.is_cancelled = True

    consumer: Any = Consumer()
    step = WatchedLoop(consumer)
    assert step.include_if(consumer)
    step.start(consumer)
    ((seconds, ask, args),) = consumer.calls
    assert seconds < worker_loop.STUCK_SECONDS
    pass_time(monkeypatch)
    assert loop.is_stuck()
    ask(*args)
    consumer.pool.work()
    assert not loop.is_stuck()
    step.stop(consumer)
    assert consumer.is_cancelled
    # Without Redis a thread would ask, which says nothing of a loop.
    consumer.hub = None
    assert not step.include_if(consumer)

"""Whether a worker takes messages and has threads for them, for its sign of life.

A thread that beats by itself would go on while the worker's loop stands still. So the
loop hands its pool something to do, and the sign of life is given only while that comes
back. Without Redis there is no loop to ask, and work is found in the database.
"""

from __future__ import annotations

import time
from typing import Any, Final

from celery import bootsteps

ASK_SECONDS: Final = 5.0
STUCK_SECONDS: Final = 30.0


class WorkerLoop:
    """When loop and pool of this process last worked together; None without a loop."""

    def __init__(self) -> None:
        self._worked_at: float | None = None
        self._is_asking = False

    def begin(self) -> None:
        """Watch a loop that starts now."""
        self._worked_at, self._is_asking = time.monotonic(), False

    def ask(self, pool: Any) -> None:
        """Let a thread of the pool say that it is free, once at a time."""
        if not self._is_asking:
            self._is_asking = True
            pool.apply_async(self._answer)

    def _answer(self) -> None:
        self._is_asking = False
        if self._worked_at is not None:
            self._worked_at = time.monotonic()

    def end(self) -> None:
        """Watch nothing any more: the connection is lost, or the worker ends."""
        self._worked_at = None

    def is_stuck(self) -> bool:
        """Whether it has not worked for so long that it is not alive."""
        worked_at = self._worked_at
        return worked_at is not None and time.monotonic() - worked_at > STUCK_SECONDS


current: Final = WorkerLoop()


class WatchedLoop(bootsteps.StartStopStep):
    """The step of Celery's consumer that has its loop ask the pool again and again."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def __init__(self, consumer: Any, **options: Any) -> None:
        super().__init__(consumer, **options)
        self._timer: Any = None

    def include_if(self, consumer: Any) -> bool:
        """Whether a loop takes the messages: with Redis, not in ``up``."""
        return consumer.hub is not None

    def start(self, consumer: Any) -> None:
        """Begin, with each new connection."""
        current.begin()
        self._timer = consumer.timer.call_repeatedly(
            ASK_SECONDS, current.ask, (consumer.pool,)
        )

    def stop(self, consumer: Any) -> None:  # noqa: ARG002
        """End, with the connection."""
        current.end()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

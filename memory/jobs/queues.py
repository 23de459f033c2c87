"""The queues of the workers, and which task goes into which.

A queue stands for a class of work that must not wait for another: a worker serves all
of them, or those that it is told to (``-Q mail,clock``). In one process a class has one
thread at a time, see ``one_at_a_time``, so that no class takes the threads of another.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, Final

EMBEDDING: Final = "embedding"
PERSONAL_DATA: Final = "personal_data"
MAIL: Final = "mail"
CLOCK: Final = "clock"
BATCH: Final = "batch"

ALL: Final = (EMBEDDING, PERSONAL_DATA, MAIL, CLOCK, BATCH)
# Task → queue. ``memory.tick`` and ``memory.run_job`` are sent to the queue of their
# jobs, see ``registry.Job.runs_in``.
ROUTES: Final[dict[str, str]] = {
    "episodic.sweep": EMBEDDING,
    "episodic.sweep_soon": EMBEDDING,
    "episodic.link": EMBEDDING,
    "episodic.begin": BATCH,
    "gdpr.sweep": PERSONAL_DATA,
    "memory.files_sweep": CLOCK,
    "memory.nightly": BATCH,
    "memory.run_job": BATCH,
    "memory.tick": CLOCK,
}
# Threads of a worker. There are more classes of work, but most of them end at once.
THREADS: Final = 8

_guard = threading.Lock()
_locks: dict[str, threading.Lock] = {}


def lock_of(name: str) -> threading.Lock:
    """Return this process's lock of a class of work."""
    with _guard:
        return _locks.setdefault(name, threading.Lock())


def one_at_a_time(
    work: str, by: Callable[..., str] = lambda *_: ""
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator: a task that finds its work under way in this process ends.

    What it was to do is in the database: the one at work finds it, or the next message.
    ``by`` tells apart, by the task's arguments, what may go on side by side.
    """

    def decorated(act: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(act)
        def guarded(*args: Any) -> None:
            lock = lock_of(f"{work} {by(*args)}")
            if not lock.acquire(blocking=False):
                return
            try:
                act(*args)
            finally:
                lock.release()

        return guarded

    return decorated

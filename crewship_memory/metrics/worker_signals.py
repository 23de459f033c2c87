"""What workers, the clock and messages do for the figures; loaded at start-up."""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any

from celery.signals import (
    beat_init,
    before_task_publish,
    worker_init,
    worker_process_init,
)

from crewship_memory.metrics.queue_figures import SENT_AT


@before_task_publish.connect
def note_time(headers: dict[str, Any] | None = None, **_: Any) -> None:
    """Write into a message when it was sent, for the age of its queue."""
    if headers is not None:
        headers[SENT_AT] = time.time()


@worker_init.connect
def worker_started(**_: Any) -> None:
    """Register a worker."""
    import_module("crewship_memory.metrics.serving").start("worker")


@worker_process_init.connect
def child_started(**_: Any) -> None:
    """Register a process that a worker forked."""
    import_module("crewship_memory.metrics.serving").start("worker", is_child=True)


@beat_init.connect
def clock_started(**_: Any) -> None:
    """Register the clock."""
    import_module("crewship_memory.metrics.serving").start("clock")

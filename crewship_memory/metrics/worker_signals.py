"""What workers and the clock do for the figures; loaded at start-up."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from celery.signals import beat_init, worker_init, worker_process_init


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

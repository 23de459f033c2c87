"""The sign of life of a run, from the process that does it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from django.db import DatabaseError, connections
from django.utils import timezone

from memory.models import JobRun

log = structlog.get_logger(__name__)


@contextmanager
def of_run(run: JobRun, seconds: float) -> Iterator[None]:
    """Update the run's heartbeat from a thread until the run is over."""
    is_over = threading.Event()

    def beat() -> None:
        while not is_over.wait(seconds):
            try:
                own_run = JobRun.objects.filter(pk=run.pk, claimed_by=run.claimed_by)
                own_run.update(heartbeat_at=timezone.now())
            except DatabaseError:
                log.warning("heartbeat_missed", job=run.name)
        connections.close_all()

    thread = threading.Thread(target=beat, name=f"heartbeat of {run.name}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()

"""The sign of life of workers and clocks, and which queues nobody serves."""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.db.models import QuerySet
from django.db.models.functions import Now

from memory.jobs import queues
from memory.models import WorkerProcess

BEAT_SECONDS: Final = 10.0
# A process not seen for so long counts as gone.
DEAD_AFTER: Final = timedelta(seconds=35)
FORGOTTEN_AFTER: Final = timedelta(days=1)


def host() -> str:
    """Return a digest of this machine's name, which may be a person's."""
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:16]


class Pulse:
    """The row of this process: what it serves, and when it was seen."""

    def __init__(self, names: Sequence[str], *, is_clock: bool = False) -> None:
        self.name = f"{os.getpid()}:{secrets.token_hex(8)}"
        self._fields = {"host": host(), "queues": list(names), "is_clock": is_clock}

    def beat(self) -> None:
        """Record that the process is alive."""
        rows = WorkerProcess.objects.filter(pk=self.name)
        if rows.update(seen_at=Now()):
            return
        WorkerProcess.objects.create(pk=self.name, seen_at=Now(), **self._fields)
        old = WorkerProcess.objects.filter(seen_at__lt=Now() - FORGOTTEN_AFTER)
        old.delete()

    def end(self) -> None:
        """Record that the process serves nothing any more."""
        WorkerProcess.objects.filter(pk=self.name).delete()


def live() -> QuerySet[WorkerProcess]:
    """Return the processes that were seen a moment ago."""
    return WorkerProcess.objects.filter(seen_at__gte=Now() - DEAD_AFTER)


def served_by(processes: Sequence[WorkerProcess]) -> dict[str, int]:
    """Return how many of these processes serve each queue."""
    return {
        name: sum(name in process.queues for process in processes)
        for name in queues.ALL
    }


def is_alive_here(kind: str, names: Sequence[str] = ()) -> bool:
    """Whether a worker, or a clock, of this machine was seen a moment ago.

    With names of queues: whether each of them is served here.
    """
    rows = list(live().filter(host=host()))
    if kind == "clock":
        return any(row.is_clock for row in rows)
    counts = served_by(rows)
    return all(counts[name] for name in names) and any(row.queues for row in rows)


def missing() -> list[str]:
    """Return what no process does, as sentences; empty where no broker is used.

    Without one there is a worker and a clock in the process of ``up``.
    """
    if not settings.REDIS_URL:
        return []
    rows = list(live())
    counts = served_by(rows)
    unserved = ", ".join(name for name, count in counts.items() if not count)
    sentences = [f"No worker serves the queue {unserved}."] if unserved else []
    if not any(row.is_clock for row in rows):
        sentences.append("No clock runs: nothing is done by schedule.")
    return sentences

"""What a worker has beside its tasks: a sign of life, cases, and the file watcher.

The signals of ``crewship_memory.celery`` start and stop it; ``up`` does so itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import structlog
from django.db import Error, close_old_connections, connections

from crewship_memory import file_watcher, process_end, worker_loop
from crewship_memory.case_runner import CaseRunner
from crewship_memory.stoppable_thread import StoppableThread
from gdpr.erasure import process_caches
from memory.jobs import pulses, queues, time_box
from memory.jobs.pulses import Pulse

log = structlog.get_logger(__name__)


class PulseThread(StoppableThread):
    """Records that this process lives, and what it serves, unless its loop is stuck."""

    def __init__(self, pulse: Pulse) -> None:
        super().__init__("pulse")
        self._pulse = pulse

    def run(self) -> None:
        self._guarded(self._pulse.beat)
        while not self.ended.wait(pulses.BEAT_SECONDS):
            if not worker_loop.current.is_stuck():
                self._guarded(self._pulse.beat)
        self._guarded(self._pulse.end)
        connections.close_all()

    def _guarded(self, act: Any) -> None:
        close_old_connections()
        try:
            act()
        except Error as error:
            log.warning("pulse_missed", error=type(error).__name__)


class ProcessThreads:
    """The threads of a process that serves these queues."""

    def __init__(self, names: Sequence[str], *, is_clock: bool = False) -> None:
        self._threads: list[StoppableThread] = [
            PulseThread(Pulse(names, is_clock=is_clock))
        ]
        if queues.PERSONAL_DATA in names:
            self._threads.append(CaseRunner())
        if queues.CLOCK in names and file_watcher.is_needed():
            self._threads.append(file_watcher.Watcher())

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Ask all of them to end, and wait for each."""
        for thread in self._threads:
            thread.ended.set()
        for thread in self._threads:
            thread.stop()


# ── A worker of Celery's ─────────────────────────────────────────────────────
_running: Final[list[ProcessThreads]] = []


def start(app: Any) -> None:
    """Start the threads of a worker that takes from its application's queues."""
    threads = ProcessThreads(sorted(app.amqp.queues.consume_from))
    _running.append(threads)
    threads.start()


def end_soon() -> None:
    """Tell whatever goes on to stop; it has ``GRACE_SECONDS`` for that."""
    time_box.ending.set()
    process_end.after()


def stop() -> None:
    """Stop the threads of a worker."""
    while _running:
        _running.pop().stop()
    process_caches.stop()

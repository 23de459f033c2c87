"""The Celery worker and the scheduler as threads of the web process.

Celery without a broker: messages pass through memory, a worker with some threads takes
them within a twentieth of a second, and beat ticks beside it. A message that is lost
with the process costs nothing: every task is a sweep over the database, and the
scheduler of the next process starts it again.
"""

from __future__ import annotations

import os
import threading
from typing import Any, Final

import structlog
from celery.beat import Service
from celery.signals import task_prerun
from celery.worker import WorkController
from django.conf import settings

from crewship_memory import sqlite_integrity, warm_up
from crewship_memory.celery import app
from crewship_memory.clock import SteadyScheduler
from crewship_memory.index_thread import IndexThread
from crewship_memory.worker_process import ProcessThreads
from episodic.embedders import thread_priority
from gdpr.erasure import process_caches
from memory.jobs import queues

TICK_SECONDS: Final = 1
STOP_SECONDS: Final = 4.0
# How long the check of the database file waits for what is loaded before it.
LONGEST_LOAD: Final = 120.0
log = structlog.get_logger(__name__)


def lower_priority(**_: Any) -> None:
    """Lower the priority of a task's thread below that of requests."""
    thread_priority.lower()


def _worker() -> Any:
    """Return a Celery worker without gossip, mingle and remote control."""
    app.conf.worker_enable_remote_control = False
    # The web process has run the system checks; the worker would run them again.
    os.environ.setdefault("CELERY_SKIP_CHECKS", "1")
    if not settings.REDIS_URL:
        # A host that is never called; without one kombu warns at every start.
        app.conf.update(broker_url="memory://localhost")
    return WorkController(
        app=app,
        hostname="embedded@localhost",
        pool_cls="threads",
        concurrency=queues.THREADS,
        loglevel="WARNING",
        without_heartbeat=True,
        without_mingle=True,
        without_gossip=True,
    )


class BackgroundThreads:
    """Worker, scheduler, file watcher, case runner and index, a thread each.

    Celery's Django fix-up closes the database connections of the first two.
    """

    def __init__(self) -> None:
        self._worker = _worker()
        # In memory: a schedule file would outlive the timetable it came from.
        self._clock = Service(
            app, max_interval=TICK_SECONDS, scheduler_cls=SteadyScheduler
        )
        self._others = ProcessThreads(queues.ALL, is_clock=True)
        self._index = IndexThread()
        self._late_check = threading.Timer(LONGEST_LOAD, sqlite_integrity.watch)
        self._late_check.daemon = True
        self._threads = [
            threading.Thread(target=target, name=name, daemon=True)
            for name, target in (
                ("worker", self._worker.start),
                ("clock", self._clock.start),
            )
        ]

    def start(self) -> None:
        """Start the threads."""
        app.conf.crewship_delivers = True
        task_prerun.connect(lower_priority)
        for thread in self._threads:
            thread.start()
        self._others.start()
        self._index.start()
        process_caches.listen()
        self._late_check.start()

    def warm_up(self) -> None:
        """Load what first questions need, in one more thread.

        The check of the whole database file follows it, as both read from the same
        disk, and begins ``LONGEST_LOAD`` after the start where that is not over yet.
        """
        warm_up.start(then=sqlite_integrity.watch)

    def stop(self, seconds: float = STOP_SECONDS) -> bool:
        """Stop all threads; False when a task was still running after ``seconds``.

        Such a task may be cut off anywhere: its rows are leased, not lost.
        """
        app.conf.crewship_delivers = False
        self._others.stop()
        self._index.stop()
        process_caches.stop()
        self._late_check.cancel()
        sqlite_integrity.stop()
        self._clock.stop()
        stopping = threading.Thread(target=self._worker.stop, daemon=True)
        stopping.start()
        stopping.join(seconds)
        return not stopping.is_alive()

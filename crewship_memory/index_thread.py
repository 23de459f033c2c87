"""The index sweep in a thread of its own, woken by the append itself.

A message through Celery's memory transport would be polled for, cost the append half a
millisecond, and wait behind a night's work. Which rows are embedded by whom is settled
in the database; what is missed here the scheduled sweep finds.
"""

from __future__ import annotations

import threading

import structlog
from django.db import close_old_connections, connections

from crewship_memory import logs
from crewship_memory.stoppable_thread import StoppableThread
from episodic import tasks
from episodic.embedders import thread_priority

log = structlog.get_logger(__name__)


class IndexThread(StoppableThread):
    """Embeds what was appended, some hundredths of a second later."""

    def __init__(self) -> None:
        super().__init__("index")
        self._appended = threading.Event()

    def start(self) -> None:
        tasks.nudge.wake = self._appended.set
        super().start()

    def stop(self) -> bool:
        tasks.nudge.wake = None
        self.ended.set()
        self._appended.set()
        return super().stop()

    def run(self) -> None:
        thread_priority.lower()
        while self._appended.wait() and not self.ended.wait(tasks.pacing.wait()):
            # Before the sweep reads: what is appended from now on wakes it again.
            self._appended.clear()
            if self.ended.is_set():
                # It may have been woken for that alone, between the wait and here.
                break
            close_old_connections()
            try:
                with logs.own_run():
                    tasks.embed_soon()
            except Exception as error:  # noqa: BLE001  (the next sweep tries again)
                log.warning("index_not_swept", error=type(error).__name__)
        connections.close_all()

"""Counts how often entries were recalled, off the request path.

Recalls add to a buffer; a thread writes it to the database once a second, and once more
when the process ends. What could not be written stays in the buffer and is tried again.
One write runs at a time: the last flush before the process ends waits for the write
that is running instead of finding an empty buffer and cutting it off.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections import Counter
from collections.abc import Iterable
from typing import Final

import structlog
from django.db import DatabaseError, connections
from django.utils import timezone

from episodic.index import sweep as index

EVERY_SECONDS: Final = 1.0
RETRY_SECONDS: Final = 0.1
QUIET_ROUNDS: Final = 30
log = structlog.get_logger(__name__)


class ReferenceCounts:
    """The buffer and the thread that empties it; the first mark starts the thread."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._thread: threading.Thread | None = None

    def add(self, entry_ids: Iterable[str]) -> None:
        """Count one reference to each entry."""
        with self._lock:
            self._counts.update(entry_ids)
            if self._counts and (self._thread is None or not self._thread.is_alive()):
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()

    def flush(self) -> int:
        """Write the buffer now; return how many references were written."""
        with self._writing:
            with self._lock:
                counts, self._counts = self._counts, Counter()
            if not counts:
                return 0
            try:
                index.mark_referenced(dict(counts), timezone.now())
            except BaseException as error:
                with self._lock:
                    self._counts.update(counts)
                if not isinstance(error, DatabaseError):
                    raise
                log.warning("marks_not_written", error=type(error).__name__)
                return 0
            return counts.total()

    def drain(self, seconds: float = 3.0) -> bool:
        """Write everything before the process ends; False when time ran out."""
        until = time.monotonic() + seconds
        while True:
            self.flush()
            with self._lock:
                if not self._counts:
                    return True
                remaining = self._counts.total()
            if time.monotonic() >= until:
                log.error("marks_lost", references=remaining)
                return False
            time.sleep(RETRY_SECONDS)

    def _run(self) -> None:
        """Flush each second; end after half a minute without references."""
        quiet = 0
        pause = threading.Event()
        while True:
            pause.wait(EVERY_SECONDS)
            with self._lock:
                quiet = 0 if self._counts else quiet + 1
                if quiet >= QUIET_ROUNDS:
                    # From here on a reference starts another thread.
                    self._thread = None
                    break
            self.flush()
        connections.close_all()


reference_counts = ReferenceCounts()
atexit.register(reference_counts.drain)

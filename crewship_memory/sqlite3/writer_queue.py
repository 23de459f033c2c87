"""A fair queue of threads of which the first may write."""

from __future__ import annotations

import threading
from collections import deque


class WriterQueue:
    """Lets one write at a time, first come first served.

    SQLite allows one writer; the others retry after ever longer pauses, until a retry
    happens to fall between two writes. Among the threads of one process that is slow
    and unfair; here the writer that ends wakes the next one. Between processes SQLite's
    own lock still decides.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._first: object | None = None
        self._behind: deque[tuple[object, threading.Lock]] = deque()

    def join(self, ticket: object, seconds: float) -> None:
        """Wait for the ticket's turn, at most ``seconds``.

        After that this ticket goes first; SQLite's own lock still excludes two writers.
        """
        place = self._line_up(ticket)
        if place is None or place[1].acquire(timeout=seconds):
            return
        with self._lock:
            if self._first is not ticket:
                # Not in the queue: the turn was passed on to it, then taken by another.
                if place in self._behind:
                    self._behind.remove(place)
                self._first = ticket

    def try_join(self, ticket: object, seconds: float) -> bool:
        """Wait at most ``seconds``; False, and out of the queue, when that was long."""
        place = self._line_up(ticket)
        if place is None or place[1].acquire(timeout=seconds):
            return True
        with self._lock:
            if place in self._behind:
                self._behind.remove(place)
            return self._first is ticket

    def _line_up(self, ticket: object) -> tuple[object, threading.Lock] | None:
        """Take the turn if it is free and return None, else a place with its gate."""
        with self._lock:
            if self._first is None or self._first is ticket:
                self._first = ticket
                return None
            gate = threading.Lock()
            gate.acquire()
            place = (ticket, gate)
            self._behind.append(place)
            return place

    def leave(self, ticket: object) -> None:
        """Let the next ticket write; no effect unless it was this ticket's turn."""
        with self._lock:
            if self._first is not ticket:
                return
            self._first = None
            if self._behind:
                self._first, gate = self._behind.popleft()
                gate.release()

"""Check the SQLite file for damaged pages in the background.

A check reads the whole file, in a thread of its own below the priority of requests and
for at most one two-hundredth of the time; damage that a request meets meanwhile is
noted as well. PostgreSQL checks its own pages and reports damage as an error.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path
from typing import Final
from urllib.parse import quote

import structlog
from django.db import connection

from crewship_memory.stoppable_thread import StoppableThread
from episodic.embedders import thread_priority
from memory import outages

SHORTEST_PAUSE: Final = 30.0
PAUSES: Final = 200
log = structlog.get_logger(__name__)


def is_damaged(link: sqlite3.Connection) -> bool:
    """Whether SQLite reports a damaged page."""
    try:
        row = link.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        return error.sqlite_errorcode & 0xFF in (
            sqlite3.SQLITE_CORRUPT,
            sqlite3.SQLITE_NOTADB,
        )
    return row is None or row[0] != "ok"


def connect(path: Path) -> sqlite3.Connection:
    """Open a database file read-only, usable from any thread."""
    uri = f"file:{quote(str(path))}?mode=ro"
    return sqlite3.connect(uri, uri=True, check_same_thread=False, timeout=5)


class Inspector(StoppableThread):
    """Checks the database file repeatedly."""

    def __init__(self, path: Path) -> None:
        super().__init__("integrity")
        self._path = path
        self._link: sqlite3.Connection | None = None

    def stop(self) -> bool:
        """Stop, also during a check."""
        self.ended.set()
        link = self._link
        if link is not None:
            link.interrupt()
        return super().stop()

    def look(self) -> bool:
        """Check once; record and return whether the file is damaged."""
        link = connect(self._path)
        self._link = link
        try:
            damaged = is_damaged(link)
        finally:
            self._link = None
            link.close()
        if damaged and not self.ended.is_set():
            outages.damage.note()
            log.error("database_damaged", hint=outages.DAMAGED)
        return damaged

    def run(self) -> None:
        thread_priority.lower()
        pause = 0.0
        while not self.ended.wait(pause):
            start = time.monotonic()
            try:
                if self.look():
                    # Only a restore mends it, and that needs a restart.
                    return
            except sqlite3.Error as error:
                log.warning("database_not_checked", error=type(error).__name__)
            pause = max(SHORTEST_PAUSE, PAUSES * (time.monotonic() - start))


_lock = threading.Lock()
_inspectors: list[Inspector] = []


def watch() -> None:
    """Start this process's thread once, for a database in a file."""
    if _inspectors:
        return
    name = str(connection.settings_dict["NAME"])
    if connection.vendor != "sqlite" or not Path(name).is_file():
        return
    with _lock:
        if not _inspectors:
            _inspectors.append(Inspector(Path(name)))
            _inspectors[0].start()


def stop() -> None:
    with _lock:
        while _inspectors:
            _inspectors.pop().stop()

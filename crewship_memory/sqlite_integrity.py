"""Check the SQLite file for damaged pages in the background.

A check reads the whole file, in a thread of its own and for at most one two-hundredth
of the time; damage that a request meets meanwhile is noted as well. PostgreSQL checks
its own pages and reports damage as an error.
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

from memory import outages

SHORTEST_PAUSE: Final = 30.0
PAUSES: Final = 200
STOP_SECONDS: Final = 2.0
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


class Inspector:
    """A thread that checks the database file repeatedly."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ended = threading.Event()
        self._link: sqlite3.Connection | None = None
        self._thread = threading.Thread(target=self._run, name="integrity", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop, also during a check."""
        self._ended.set()
        link = self._link
        if link is not None:
            link.interrupt()
        if self._thread.ident is not None:
            self._thread.join(STOP_SECONDS)

    def look(self) -> bool:
        """Check once; record and return whether the file is damaged."""
        link = connect(self._path)
        self._link = link
        try:
            damaged = is_damaged(link)
        finally:
            self._link = None
            link.close()
        if damaged and not self._ended.is_set():
            outages.damage.note()
            log.error("database_damaged", hint=outages.DAMAGED)
        return damaged

    def _run(self) -> None:
        pause = 0.0
        while not self._ended.wait(pause):
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

"""The thread that keeps this machine's copy of the records of erasures.

A process that serves or works compares them anyway, when it looks whether erasures
wait; one without requests, and the clock, would not.
"""

from __future__ import annotations

import threading
from typing import Final

import structlog
from django.db import DatabaseError, connections

from gdpr.erasure import shared_tombstones
from memory.installation import bodies
from memory.rules import errors

COPY_SECONDS: Final = 15.0
log = structlog.get_logger(__name__)
_started = threading.Event()


def keep() -> None:
    """Start the thread, once in a process, where machines share no disk."""
    if bodies.in_database() and not _started.is_set():
        _started.set()
        threading.Thread(target=_run, name="erasure-records", daemon=True).start()


def _run() -> None:
    pause = threading.Event()
    while True:
        copy()
        connections.close_all()
        pause.wait(COPY_SECONDS)


def copy() -> None:
    """Bring this machine's files and the table to the same records, or log why not."""
    try:
        shared_tombstones.mirror()
    except (DatabaseError, OSError, errors.AppError) as error:
        log.warning("erasure_records_not_copied", error=type(error).__name__)

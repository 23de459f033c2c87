"""Locks in PostgreSQL: for the processes of many machines.

Outside a transaction a lock belongs to the thread's connection until the block ends,
and goes with the connection when the process dies. Inside one it is held to the end of
the transaction: what was written under it is seen by others only then. A connection
must not be closed within the block, and a pooler between has to keep sessions.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.db import DatabaseError, connection

from memory.stored_files.store import LOCK_SECONDS, Busy

_DOMAIN: Final = b"crewship lock v1\x00"
POLL_SECONDS: Final = 0.05


def number_of(name: str) -> int:
    """Return the number that stands for a lock's name."""
    head = hashlib.sha256(_DOMAIN + name.encode()).digest()[:8]
    return int.from_bytes(head, "big", signed=True)


def _ask(function: str, number: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s)", [number])
        return bool(cursor.fetchone()[0])


class AdvisoryLocks:
    """Advisory locks of the server, tried again until the time is over."""

    @contextmanager
    def locked(self, name: str, seconds: float = LOCK_SECONDS) -> Iterator[None]:
        """Hold the lock of one file, across machines; raise Busy."""
        number, is_inner = number_of(name), connection.in_atomic_block
        _wait("pg_try_advisory_xact_lock" if is_inner else "pg_try_advisory_lock",
              number, name, seconds)  # fmt: skip
        try:
            yield
        finally:
            if not is_inner:
                _release(number)

    def forget_lock(self, name: str) -> None:
        """Do nothing: a free lock leaves nothing behind."""


def _wait(function: str, number: int, name: str, seconds: float) -> None:
    limit = time.monotonic() + seconds
    # It is tried again instead of waited for: a statement that waits would keep a
    # snapshot, and its timeout would break the caller's transaction.
    while not _ask(function, number):
        if seconds >= 0 and time.monotonic() >= limit:
            raise Busy(label=name.rpartition(":")[2])
        time.sleep(POLL_SECONDS)


def _release(number: int) -> None:
    try:
        _ask("pg_advisory_unlock", number)
    except DatabaseError:
        # The lock goes with the server's end of the connection. Django alone would give
        # it back to the pool, with the lock.
        if connection.connection is not None:
            connection.connection.close()
        connection.close()

"""Locks by files: for the processes of one machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from memory.stored_files.store import LOCK_SECONDS, Busy, digest


class LockFiles:
    """Lock files in one folder.

    They are apart from the trees, where agents cannot reach them, under a hash: a
    lock's name must not reveal whom a file is about.
    """

    def __init__(self, locks: Path) -> None:
        self._locks = locks

    @contextmanager
    def locked(self, name: str, seconds: float = LOCK_SECONDS) -> Iterator[None]:
        """Hold the lock of one file, across threads and processes; raise Busy."""
        self._locks.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            lock = self._lock(name)
            with FileLock(lock, timeout=seconds, mode=0o600, thread_local=False):
                yield
        except Timeout:
            raise Busy(label=name.rpartition(":")[2]) from None

    def _lock(self, name: str) -> Path:
        return self._locks / f"{digest(name.encode())[:32]}.lock"

    def forget_lock(self, name: str) -> None:
        """Remove the lock of a file that is gone for good: a hash can be guessed."""
        self._lock(name).unlink(missing_ok=True)

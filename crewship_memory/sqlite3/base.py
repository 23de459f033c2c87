"""Django's SQLite backend with a queue of writers before BEGIN.

Only transactions wait in it; a single statement relies on SQLite's own lock. The
methods overridden here are Django's, but its stubs do not declare them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.db import OperationalError
from django.db.backends.sqlite3 import base

from crewship_memory.sqlite3.writer_queue import WriterQueue

SECONDS: Final = 20.0
_queues: dict[str, WriterQueue] = {}
# A forked child starts with empty queues: it has none of the parent's waiting threads.
os.register_at_fork(after_in_child=_queues.clear)


def writer_queue(name: str) -> WriterQueue:
    """Return the writer queue of a database file."""
    return _queues.setdefault(name, WriterQueue())


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's wrapper; a transaction waits in the writer queue before it begins."""

    _patience: float | None = None

    @contextmanager
    def waiting_at_most(self, seconds: float) -> Iterator[None]:
        """Let transactions of the block fail instead of waiting longer for a writer.

        They raise OperationalError, as for a locked database.
        """
        with self.cursor() as cursor:
            cursor.execute(f"PRAGMA busy_timeout = {round(seconds * 1_000)}")
            self._patience = seconds
            try:
                yield
            finally:
                self._patience = None
                cursor.execute(f"PRAGMA busy_timeout = {round(SECONDS * 1_000)}")

    def _start_transaction_under_autocommit(self) -> None:
        if self._patience is None:
            self._queue().join(self, SECONDS)
        elif not self._queue().try_join(self, self._patience):
            message = "database is locked: another thread writes"
            raise OperationalError(message)
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
        except BaseException:
            self._queue().leave(self)
            raise

    def _commit(self) -> None:
        try:
            super()._commit()  # type: ignore[misc]
        finally:
            self._queue().leave(self)

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]
        finally:
            self._queue().leave(self)

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]
        finally:
            self._queue().leave(self)

    def _queue(self) -> WriterQueue:
        return writer_queue(str(self.settings_dict["NAME"]))

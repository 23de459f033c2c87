"""Django's SQLite backend with a queue of writers before BEGIN.

Only transactions wait in it; a single statement relies on SQLite's own lock. The
methods overridden here are Django's, but its stubs do not declare them.
"""

from __future__ import annotations

import os
from typing import Final

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

    def _start_transaction_under_autocommit(self) -> None:
        self._queue().join(self, SECONDS)
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

"""Commit together what waits for the same writer.

SQLite has one writer, and every commit waits for the disk. Whoever comes while nobody
waits opens a group and waits for the turn to write; who comes meanwhile joins it. With
the turn the group is closed and written in one transaction, in the order of arrival, by
the thread that opened it. Nobody returns before that is committed. Where it fails,
nothing was written, and everybody is to write alone: an error meets only its cause.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from django.db import transaction

Item = TypeVar("Item")


class _Place(Generic[Item]):
    """An item in a group, and the gate that opens when its outcome is known."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self.is_committed = False
        self.gate = threading.Lock()
        self.gate.acquire()


class CommitGroups(Generic[Item]):
    """Groups of items of the threads of one process; ``write`` inserts a group.

    It must not be used inside a transaction, which nobody else may be committed with.
    """

    def __init__(self, write: Callable[[Sequence[Item]], None]) -> None:
        self._write = write
        self._start()
        # A forked child has none of the parent's waiting threads.
        os.register_at_fork(after_in_child=self._start)

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._open: list[_Place[Item]] = []

    def commit(self, item: Item) -> bool:
        """Write an item together with others and commit; False when nothing was.

        An item that was alone in its group raises what went wrong.
        """
        place = _Place(item)
        with self._lock:
            opens = not self._open
            self._open.append(place)
        if opens:
            return self._lead()
        place.gate.acquire()
        return place.is_committed

    def _close(self) -> list[_Place[Item]]:
        """Close the open group and return it; who comes now opens another."""
        with self._lock:
            group, self._open = self._open, []
        return group

    def _lead(self) -> bool:
        group: list[_Place[Item]] = []

        def note_commit() -> None:
            for place in group:
                place.is_committed = True

        try:
            with transaction.atomic():
                group = self._close()
                # The first of the hooks: one that fails undoes no commit.
                transaction.on_commit(note_commit)
                self._write([place.item for place in group])
        except Exception:
            if len(group) < 2 or group[0].is_committed:
                raise
            return False
        finally:
            # The turn may never have come.
            for place in group or self._close():
                place.gate.release()
        # Django rolls back without a word what was marked for that, or its connection
        # closed, inside the transaction.
        return group[0].is_committed

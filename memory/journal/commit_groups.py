"""Commit together what waits for the same turn to write.

SQLite has one writer; on PostgreSQL each workspace has one, who holds the head of its
chain, and the busier the machine is, the longer. Whoever comes while nobody waits for
the turn opens a group and waits; who comes meanwhile joins it. With the turn the group
is closed and written in one transaction, in the order of arrival, by the thread that
opened it: the more wait, the more a turn writes. Nobody returns before that is
committed. Where it fails each item is to be written by itself, so that an error
reaches only the caller whose item caused it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from django.db import transaction

Item = TypeVar("Item")
Turn = TypeVar("Turn")


class _Place(Generic[Item]):
    """An item in a group, and the gate that opens when its outcome is known."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self.is_committed = False
        self.gate = threading.Lock()
        self.gate.acquire()


class CommitGroups(Generic[Item, Turn]):
    """Groups of items of the threads of one process, one for each queue.

    In a transaction ``turn`` waits for a queue's turn, and ``write`` inserts a group
    with what that returned. It must not be used inside a transaction, which nobody else
    may be committed with.
    """

    def __init__(
        self,
        write: Callable[[Sequence[Item], Turn], None],
        turn: Callable[[str], Turn],
    ) -> None:
        self._write, self._turn = write, turn
        self._start()
        # A forked child has none of the parent's waiting threads.
        os.register_at_fork(after_in_child=self._start)

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, list[_Place[Item]]] = {}

    def commit(self, item: Item, queue: str) -> bool:
        """Write an item together with others; False where that is not known to be done.

        An item that was alone in its group raises what went wrong.
        """
        place = _Place(item)
        with self._lock:
            opens = queue not in self._open
            self._open.setdefault(queue, []).append(place)
        if opens:
            return self._lead(queue)
        place.gate.acquire()
        return place.is_committed

    def _close(self, queue: str) -> list[_Place[Item]]:
        """Close the open group and return it; who comes now opens another."""
        with self._lock:
            return self._open.pop(queue, [])

    def _lead(self, queue: str) -> bool:
        group: list[_Place[Item]] = []

        def note_commit() -> None:
            for place in group:
                place.is_committed = True

        try:
            with transaction.atomic():
                turn = self._turn(queue)
                group = self._close(queue)
                # The first of the hooks: one that fails undoes no commit.
                transaction.on_commit(note_commit)
                self._write([place.item for place in group], turn)
        except Exception:
            if len(group) < 2 or group[0].is_committed:
                raise
            return False
        finally:
            # The turn may never have come.
            for place in group or self._close(queue):
                place.gate.release()
        # Django rolls back without a word what was marked for that, or its connection
        # closed, inside the transaction.
        return group[0].is_committed

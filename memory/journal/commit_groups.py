"""Commit together what waits for the same writer.

SQLite has one writer, and every commit waits for the disk. Whoever comes while nobody
waits opens a group and waits for its turn to write; who comes meanwhile joins. When the
turn comes the group is closed and written in one transaction, in the order of arrival,
by the one who opened it. Nobody is answered before that transaction is committed. Where
it fails nothing was written, and everybody writes alone: an error meets only its cause.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from django.db import transaction


class _Place[T]:
    """An item in a group; the gate opens when its outcome is known."""

    __slots__ = ("gate", "is_committed", "item")

    def __init__(self, item: T) -> None:
        self.item = item
        self.is_committed = False
        self.gate = threading.Lock()
        self.gate.acquire()

"""Values that do not survive a fork: built at the first use, once in each process.

Threads and open connections belong to the process that made them. A forked child that
used its parent's would wait for threads it does not have, or mix up answers with its
siblings, so it builds its own.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class PerProcess(Generic[T]):
    """Makes a value at the first ``get`` in a process, and keeps it there.

    What the parent made stays in the child's table on purpose: tearing it down there
    would touch what the parent still uses. An error while making is raised and not
    remembered; the next caller tries again.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: dict[int, T] = {}
        self._locks: dict[int, threading.Lock] = {}

    def get(self) -> T:
        """Return this process's value; of several callers at once, one makes it."""
        process = os.getpid()
        if process not in self._made:
            # A lock for each process: a child forked in the middle of making would
            # inherit a lock that is never released.
            with self._locks.setdefault(process, threading.Lock()):
                if process not in self._made:
                    self._made[process] = self._make()
        return self._made[process]

"""How long a piece of work may go on before it lets others in.

Work that takes its time asks ``is_over`` between two batches and returns when it is:
what it did is committed, and what is left is found in the database. Work that would
begin anew asks ``is_ending``. Outside a box only the end of the process makes it over,
so that a command runs to its end.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

# Embedding: how long a sweep goes on; a job: how long a part of its run takes.
SWEEP_SECONDS: Final = 20.0
JOB_SECONDS: Final = 60.0


@dataclass(slots=True)
class TimeBox:
    """The time of one piece of work; ``is_cut`` says that the work was told to end."""

    seconds: float
    start: float = field(default_factory=time.monotonic)
    is_cut: bool = False

    @property
    def is_used_up(self) -> bool:
        """Whether the seconds are over."""
        return time.monotonic() - self.start >= self.seconds


# Set when the process was asked to end: every box is over then.
ending = threading.Event()
_current: ContextVar[TimeBox | None] = ContextVar("time_box", default=None)


@contextmanager
def of(seconds: float) -> Iterator[TimeBox]:
    """Give the work inside so many seconds."""
    box = TimeBox(seconds)
    token = _current.set(box)
    try:
        yield box
    finally:
        _current.reset(token)


def is_ending() -> bool:
    """Whether the process ends; work that is told so returns, and leaves a rest."""
    return _cut(only_if=ending.is_set())


def is_over() -> bool:
    """Whether the time of the work that asks is over, or the process ends.

    Work that is told so returns, and leaves a rest.
    """
    box = _current.get()
    return _cut(only_if=ending.is_set() or (box is not None and box.is_used_up))


def _cut(*, only_if: bool) -> bool:
    box = _current.get()
    if only_if and box is not None:
        box.is_cut = True
    return only_if

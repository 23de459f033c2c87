"""Waiting for something that another thread or process does.

A limit only ends a run that would hang for ever. It is far beyond what the slowest
machine needs, so that no test passes or fails by the speed of a machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable

LIMIT_SECONDS = 300


def until(condition: Callable[[], object], interval: float = 0.01) -> None:
    """Return when a condition holds; fail when it never does."""
    end = time.monotonic() + LIMIT_SECONDS
    while not condition():
        assert time.monotonic() < end, f"not so after {LIMIT_SECONDS} seconds"
        time.sleep(interval)

"""Latencies and what they say."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


def spread(milliseconds: Sequence[float]) -> dict[str, float]:
    """Return median, p95, p99 and maximum in milliseconds."""
    ascending = sorted(milliseconds)

    def at(share: float) -> float:
        return round(ascending[min(len(ascending) - 1, int(share * len(ascending)))], 2)

    return {"p50": at(0.5), "p95": at(0.95), "p99": at(0.99), "max": at(1.0)}


@contextmanager
def timed(latencies: list[float]) -> Iterator[None]:
    """Append to ``latencies`` how many milliseconds the block took."""
    before = time.perf_counter()
    yield
    latencies.append((time.perf_counter() - before) * 1_000)

"""What a process keeps in memory, told to the other processes every few seconds."""

from __future__ import annotations

from typing import Any, Final

import structlog
from django.conf import settings
from django.db import connection

from crewship_memory.stoppable_thread import StoppableThread
from episodic.index import engine
from memory.measurements import recorded
from memory.word_index.cache import indexes as word_indexes

SECONDS: Final = 5.0
log = structlog.get_logger(__name__)


def beat() -> None:
    """Write this process's figures of memory and of its connections."""
    recorded.VECTOR_BYTES().set(engine.vector_bytes())
    recorded.WORD_INDEX_BYTES().set(word_indexes.nbytes)
    recorded.QUERY_CACHE_SIZE().set(engine.cached_questions())
    stats = _pool_stats()
    if stats:
        size, idle = stats.get("pool_size", 0), stats.get("pool_available", 0)
        recorded.POOL.labels("idle").set(idle)
        recorded.POOL.labels("busy").set(size - idle)
        recorded.POOL_WAITING().set(stats.get("requests_waiting", 0))


def _pool_stats() -> dict[str, int]:
    """Return the figures of this process's pool; none where there is no pool."""
    options: dict[str, Any] = settings.DATABASES["default"].get("OPTIONS", {})
    if connection.vendor != "postgresql" or not options.get("pool"):
        return {}
    pool = connection.pool  # type: ignore[attr-defined]
    return dict(pool.get_stats())


class Pulse(StoppableThread):
    """Writes them until the process ends."""

    def __init__(self) -> None:
        super().__init__("metrics")

    def run(self) -> None:
        while not self.ended.wait(SECONDS):
            try:
                beat()
            except Exception as error:  # noqa: BLE001  (the next beat tries again)
                log.warning("figures_not_told", error=type(error).__name__)

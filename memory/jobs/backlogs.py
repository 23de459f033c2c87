"""How many messages wait in the queues of Redis, and since when.

A queue that no worker empties takes ``LIMIT`` messages and no more: what they would set
going is in the database, and any later message sets it going as well.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, Final

import structlog
from celery.signals import before_task_publish
from django.conf import settings
from django.utils import timezone

from memory.jobs import queues

LIMIT: Final = 1_000
LOOK_SECONDS: Final = 5.0
TIMEOUT_SECONDS: Final = 1.0
SENT_AT: Final = "sent_at"
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Backlog:
    """The messages of one queue: how many, and when the oldest was sent."""

    length: int
    oldest_at: datetime | None


@before_task_publish.connect
def note_time(headers: dict[str, Any], **_: Any) -> None:
    """Write into a message when it was sent."""
    headers[SENT_AT] = timezone.now().timestamp()


def _sent_at(message: bytes | None) -> datetime | None:
    try:
        stamp = json.loads(message or b"{}")["headers"][SENT_AT]
        return datetime.fromtimestamp(stamp, UTC)
    except (KeyError, TypeError, ValueError):
        return None


def read(names: Sequence[str] = queues.ALL) -> dict[str, Backlog]:
    """Return what waits in queues; empty without Redis, or when it is away."""
    if not settings.REDIS_URL:
        return {}
    redis = import_module("redis")
    options = dict.fromkeys(
        ("socket_timeout", "socket_connect_timeout"), TIMEOUT_SECONDS
    )
    try:
        with redis.Redis.from_url(settings.REDIS_URL, **options) as link:
            return {
                name: Backlog(link.llen(name), _sent_at(link.lindex(name, -1)))
                for name in names
            }
    except (redis.RedisError, OSError) as error:
        log.warning("queues_not_read", error=type(error).__name__)
        return {}


class _Full:
    """Remembers for some seconds which queues are full."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names: frozenset[str] = frozenset()
        self._look_at = 0.0

    def __call__(self, queue: str) -> bool:
        with self._lock:
            is_due = time.monotonic() >= self._look_at
            if is_due:
                self._look_at = time.monotonic() + LOOK_SECONDS
        if is_due:
            backlogs = read().items()
            self._names = frozenset(n for n, part in backlogs if part.length >= LIMIT)
        return queue in self._names


is_full = _Full()

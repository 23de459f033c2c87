"""Send Celery tasks without blocking the request when the broker is down.

No message carries data: pending work is in the database, and the scheduler's next tick
finds it. After a failed attempt no other is made for ``PAUSE_SECONDS``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any, Final

import structlog
from celery import current_app
from kombu.exceptions import KombuError

from memory.jobs import backlogs, queues

PAUSE_SECONDS: Final = 10.0
log = structlog.get_logger(__name__)


class _Broker:
    """Remembers when the broker may be tried again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._retry_at = 0.0

    @property
    def is_paused(self) -> bool:
        return time.monotonic() < self._retry_at

    def failed(self) -> None:
        with self._lock:
            self._retry_at = time.monotonic() + PAUSE_SECONDS

    def reset(self) -> None:
        self._retry_at = 0.0


broker = _Broker()


def send(
    task: str,
    args: Sequence[Any] = (),
    *,
    expires: float | None = None,
    queue: str | None = None,
) -> bool:
    """Send a task to the workers; False when the broker cannot be reached.

    It goes to the queue of its route unless one is named. What is not sent waits in
    the database for the scheduler's next tick.
    """
    if broker.is_paused or backlogs.is_full(queue or queues.ROUTES[task]):
        return False
    try:
        current_app.send_task(
            task, args=list(args), expires=expires, queue=queue, retry=False
        )
    except (KombuError, OSError) as error:
        broker.failed()
        log.warning("message_not_sent", task=task, error=type(error).__name__)
        return False
    return True

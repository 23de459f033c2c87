"""Messages to the workers: sent in a moment, or not at all.

No message carries work: what is to do lies in the database, and the clock comes by. So
a broker that does not answer costs a request nothing but one short attempt, and the
next ones not even that.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any, Final

import structlog
from celery import current_app
from kombu.exceptions import KombuError

PAUSE_SECONDS: Final = 10.0
log = structlog.get_logger(__name__)


class _Broker:
    """When the broker may be tried again."""

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


def send(task: str, args: Sequence[Any] = (), *, expires: float | None = None) -> bool:
    """Tell the workers of a task; False when nobody could be told.

    Then it waits in the database for the next tick of the clock.
    """
    if broker.is_paused:
        return False
    try:
        current_app.send_task(task, args=list(args), expires=expires, retry=False)
    except (KombuError, OSError) as error:
        broker.failed()
        log.warning("message_not_sent", task=task, error=type(error).__name__)
        return False
    return True

"""Health checks under a hard deadline: a store that hangs costs no more than that.

The check runs in a thread of its own. A thread that still waits at the deadline is
abandoned; while many of them hang, no further check is started.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Final
from weakref import WeakSet

from django.db import connections
from django.utils import timezone

from memory.providers.base import Health, HealthStatus, Provider

BROKEN: Final = "the provider's health check failed"
_hanging_threads: WeakSet[threading.Thread] = WeakSet()
MAX_HANGING: Final = 16


@dataclass(slots=True)
class _Answer:
    status: HealthStatus | None = None


def _check_health(provider: Provider, answer: _Answer) -> None:
    try:
        answer.status = provider.health(Health())
    except Exception:  # noqa: BLE001  (any error means unhealthy)
        answer.status = HealthStatus(
            ok=False, message=BROKEN, checked_at=timezone.now()
        )
    finally:
        connections.close_all()


def check_health(provider: Provider, seconds: float) -> HealthStatus:
    """Return a provider's health within ``seconds``, whatever the provider does."""
    alive = [thread for thread in list(_hanging_threads) if thread.is_alive()]
    if len(alive) >= MAX_HANGING:
        return _too_late(seconds)
    answer = _Answer()
    thread = threading.Thread(
        target=_check_health, args=(provider, answer), daemon=True
    )
    thread.start()
    thread.join(max(0.0, seconds))
    if answer.status is None:
        _hanging_threads.add(thread)
        return _too_late(seconds)
    return answer.status


def _too_late(seconds: float) -> HealthStatus:
    message = f"time-out: no answer within {round(seconds * 1000)} ms"
    return HealthStatus(ok=False, message=message, checked_at=timezone.now())


def timed(provider: Provider, seconds: float) -> tuple[HealthStatus, float]:
    """Return a provider's health and the milliseconds it took."""
    start = time.perf_counter()
    status = check_health(provider, seconds)
    return status, (time.perf_counter() - start) * 1000

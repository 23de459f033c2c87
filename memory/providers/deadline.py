"""Health checks under a hard deadline: a store that hangs costs no more than that.

The check runs in a thread of its own. A thread that still waits at the deadline is
abandoned; while many of them hang, no further check is started.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final
from weakref import WeakSet

from django.db import connections

from memory.providers import base
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
        answer.status = base.health_status(BROKEN)
    finally:
        connections.close_all()


def check_health(provider: Provider, seconds: float) -> HealthStatus:
    """Return a provider's health within ``seconds``, whatever the provider does."""
    too_late = f"time-out: no answer within {round(seconds * 1000)} ms"
    alive = [thread for thread in list(_hanging_threads) if thread.is_alive()]
    if len(alive) >= MAX_HANGING:
        return base.health_status(too_late)
    answer = _Answer()
    thread = threading.Thread(
        target=_check_health, args=(provider, answer), daemon=True
    )
    thread.start()
    thread.join(max(0.0, seconds))
    if answer.status is None:
        _hanging_threads.add(thread)
        return base.health_status(too_late)
    return answer.status

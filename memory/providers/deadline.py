"""Health under a hard deadline, kept by the caller: a store that hangs costs no more.

The question runs in a thread of its own. A thread that is still waiting when the time
is up is left behind; when many are, nobody is sent after them.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Final
from weakref import WeakSet

from django.db import connections
from django.utils import timezone

from memory.providers.base import Health, Provider, Pulse

BROKEN: Final = "the provider's health check failed"
_stuck: WeakSet[threading.Thread] = WeakSet()
MAX_STUCK: Final = 16


@dataclass(slots=True)
class _Answer:
    pulse: Pulse | None = None


def _ask(provider: Provider, answer: _Answer) -> None:
    try:
        answer.pulse = provider.health(Health())
    except Exception:  # noqa: BLE001  (whatever it was, the provider is not well)
        answer.pulse = Pulse(ok=False, message=BROKEN, checked_at=timezone.now())
    finally:
        connections.close_all()


def pulse(provider: Provider, seconds: float) -> Pulse:
    """Return a provider's pulse within ``seconds``, whatever the provider does."""
    alive = [thread for thread in list(_stuck) if thread.is_alive()]
    if len(alive) >= MAX_STUCK:
        return _too_late(seconds)
    answer = _Answer()
    thread = threading.Thread(target=_ask, args=(provider, answer), daemon=True)
    thread.start()
    thread.join(max(0.0, seconds))
    if answer.pulse is None:
        _stuck.add(thread)
        return _too_late(seconds)
    return answer.pulse


def _too_late(seconds: float) -> Pulse:
    message = f"time-out: no answer within {round(seconds * 1000)} ms"
    return Pulse(ok=False, message=message, checked_at=timezone.now())


def timed(provider: Provider, seconds: float) -> tuple[Pulse, float]:
    """Return a pulse and the milliseconds it took."""
    start = time.perf_counter()
    found = pulse(provider, seconds)
    return found, (time.perf_counter() - start) * 1000

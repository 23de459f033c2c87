"""What processes keep in memory, and how they are told to forget it.

A run writes an order. Every process that answers questions has a thread that looks for
orders once a second, drops the questions, counts, names and vectors it keeps, and
writes down that it did. Whoever gave the order waits for that, but not for ever.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

import structlog
from django.db import connections
from django.db.models.functions import Now

from episodic.index import engine
from episodic.vectors.scan import ScanIndex
from gdpr import linking
from gdpr.models import ForgetOrder, LiveProcess
from memory import fulltext

POLL_SECONDS: Final = 1.0
BEAT_SECONDS: Final = 10.0
STOP_SECONDS: Final = 2.0
# A process that was not seen for so long is none any more.
DEAD: Final = timedelta(seconds=35)
OLD: Final = timedelta(days=7)
MAX_WAIT_SECONDS: Final = 15.0
log = structlog.get_logger(__name__)


def flush(workspace_id: str) -> None:
    """Drop what this process keeps in memory, of whomever.

    Vectors of a workspace are brought in line: rows that went are wiped in place.
    """
    fulltext.frequencies.clear()
    linking.forget()
    engine.embedder().clear()
    index = engine.vectors()
    if isinstance(index, ScanIndex):
        index.catch_up(workspace_id)


def _last() -> int:
    return ForgetOrder.objects.order_by("-pk").values_list("pk", flat=True).first() or 0


# ── Obeying ──────────────────────────────────────────────────────────────────
class Listener:
    """This process's thread; its name tells nothing of the machine."""

    def __init__(self, interval: float = POLL_SECONDS) -> None:
        self.interval = interval
        self.name = f"{os.getpid()}:{secrets.token_hex(8)}"
        self.obeyed = 0
        self._last_beat = -BEAT_SECONDS
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="forgetter", daemon=True)

    def start(self) -> None:
        """Begin, in the background; what was ordered before cannot concern us."""
        self._thread.start()

    def stop(self) -> None:
        """End, and be no live process any more."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(STOP_SECONDS)

    def poll(self) -> None:
        """Obey what came, and say that this process is there."""
        orders = ForgetOrder.objects.filter(pk__gt=self.obeyed).order_by("pk")
        new_orders = list(orders.values_list("pk", "workspace_id"))
        for workspace_id in {home for _, home in new_orders}:
            flush(workspace_id)
        if new_orders:
            self.obeyed = new_orders[-1][0]
        if new_orders or time.monotonic() - self._last_beat >= BEAT_SECONDS:
            self.beat()

    def beat(self) -> None:
        """Write down that this process lives, and what it obeyed."""
        values = {"seen_at": Now(), "obeyed": self.obeyed}
        if not LiveProcess.objects.filter(pk=self.name).update(**values):
            LiveProcess.objects.create(pk=self.name, **values)
        self._last_beat = time.monotonic()

    def _run(self) -> None:
        self._guarded(self._sign_on)
        while not self._stopping.wait(self.interval):
            self._guarded(self.poll)
        self._guarded(self._sign_off)
        connections.close_all()

    def _sign_on(self) -> None:
        # The order of the two matters: an order that comes between them is obeyed.
        self.beat()
        self.poll()

    def _sign_off(self) -> None:
        LiveProcess.objects.filter(pk=self.name).delete()

    def _guarded(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:  # noqa: BLE001  (a thread that dies obeys nothing)
            log.warning("orders_not_read", error=type(error).__name__)
            connections.close_all()


@dataclass(slots=True)
class _Current:
    listener: Listener | None = None
    pid: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


_current = _Current()


def listen() -> Listener:
    """Start this process's thread unless it runs; a forked child gets its own."""
    if _current.listener is None or _current.pid != os.getpid():
        with _current.lock:
            if _current.listener is None or _current.pid != os.getpid():
                _current.listener, _current.pid = Listener(), os.getpid()
                _current.listener.start()
    return _current.listener


def stop() -> None:
    """End this process's thread, when there is one."""
    if _current.listener is not None and _current.pid == os.getpid():
        _current.listener.stop()
        _current.listener = None


# ── Ordering ─────────────────────────────────────────────────────────────────
def order_flush(workspace_id: str) -> int:
    """Tell every process to forget, this one at once; return the order's number."""
    number = ForgetOrder.objects.create(workspace_id=workspace_id).pk
    flush(workspace_id)
    LiveProcess.objects.filter(seen_at__lt=Now() - DEAD).delete()
    ForgetOrder.objects.filter(at__lt=Now() - OLD, pk__lt=number).delete()
    return int(number)


def pending(number: int) -> int:
    """Return how many live processes have not obeyed an order yet."""
    rows = LiveProcess.objects.filter(obeyed__lt=number, seen_at__gte=Now() - DEAD)
    return rows.count()


def live_processes() -> int:
    """Return how many processes there are."""
    return LiveProcess.objects.filter(seen_at__gte=Now() - DEAD).count()


def wait_for_all(
    number: int, beat: Callable[[], None], max_seconds: float | None = None
) -> int:
    """Wait until every live process obeyed; return how many did not in time."""
    until = time.monotonic() + (
        MAX_WAIT_SECONDS if max_seconds is None else max_seconds
    )
    while (pending_count := pending(number)) and time.monotonic() < until:
        beat()
        time.sleep(0.2)
    return pending_count

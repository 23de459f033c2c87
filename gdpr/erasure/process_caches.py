"""The caches of processes, and the orders to flush them.

A run writes an order. Every process with caches has a thread that polls for orders once
a second, drops cached queries, counts, names and vectors, and records that it did. The
run waits for that, for a limited time. A word index and a vector matrix also read their
change log before each answer and overwrite erased rows.
"""

from __future__ import annotations

import gc
import os
import re
import secrets
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Final

import structlog
from django.core.signals import request_finished
from django.db import connection, connections
from django.db.models.functions import Now

from episodic.index import engine
from episodic.recall import name_index
from episodic.recall.question_log import question_log
from episodic.vectors import pg_mean
from episodic.vectors.scan import ScanIndex
from gdpr import linking
from gdpr.models import ForgetOrder, LiveProcess
from memory.accounts import api_keys
from memory.scanner import scanner_words
from memory.word_index import ranking as word_ranking

POLL_SECONDS: Final = 1.0
BEAT_SECONDS: Final = 10.0
STOP_SECONDS: Final = 2.0
# A process not seen for so long is considered dead.
DEAD_AFTER: Final = timedelta(seconds=35)
ORDERS_KEPT: Final = timedelta(days=7)
MAX_WAIT_SECONDS: Final = 15.0
log = structlog.get_logger(__name__)


def flush(workspace_id: str) -> None:
    """Drop this process's caches, of all subjects.

    The words and vectors of a workspace are brought up to date: erased rows are
    overwritten. Means of vectors are taken again. What its agents asked since the
    recall log was last written is dropped, as are words that the scanner remembers,
    keys with their end users, and compiled expressions, which hold names.
    """
    global _flushes
    question_log.drop(workspace_id)
    word_ranking.forget(workspace_id)
    linking.clear_cache()
    name_index.clear()
    engine.embedder().clear()
    index = engine.vectors()
    if isinstance(index, ScanIndex):
        index.catch_up(workspace_id)
    pg_mean.clear()
    _flushes += 1
    forget_texts()


def forget_texts() -> None:
    """Drop what keeps texts beside the caches of a workspace, and unused objects."""
    scanner_words.forget()
    api_keys.forget()
    re.purge()
    gc.collect()
    shrink_pages()


# How often this process flushed, and up to which flush a thread's pages were dropped.
_flushes = 0
_thread = threading.local()


def shrink_pages(**_: object) -> None:
    """Drop the pages that SQLite keeps for this thread's connection, after a flush.

    Each thread has a connection of its own, and only it may use it: this is called
    after every request too.
    """
    if getattr(_thread, "flushes", 0) == _flushes:
        return
    _thread.flushes = _flushes
    if connection.vendor == "sqlite" and connection.connection is not None:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA shrink_memory")


# ── Receiving ────────────────────────────────────────────────────────────────
class Listener:
    """This process's thread that carries out orders; its name hides the machine."""

    def __init__(self, interval: float = POLL_SECONDS) -> None:
        self.interval = interval
        self.name = f"{os.getpid()}:{secrets.token_hex(8)}"
        self.obeyed = 0
        self._last_beat = -BEAT_SECONDS
        self._stopping = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="cache-flusher", daemon=True
        )

    def start(self) -> None:
        """Start the thread; it carries out the stored orders first."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and delete this process's row."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(STOP_SECONDS)

    def poll(self) -> None:
        """Carry out new orders, and record that this process is alive."""
        orders = ForgetOrder.objects.filter(pk__gt=self.obeyed).order_by("pk")
        new_orders = list(orders.values_list("pk", "workspace_id"))
        for workspace_id in {home for _, home in new_orders}:
            flush(workspace_id)
        if new_orders:
            self.obeyed = new_orders[-1][0]
        if new_orders or time.monotonic() - self._last_beat >= BEAT_SECONDS:
            self.beat()

    def beat(self) -> None:
        """Record that this process is alive, and the last order it obeyed."""
        values = {"seen_at": Now(), "obeyed": self.obeyed}
        if not LiveProcess.objects.filter(pk=self.name).update(**values):
            LiveProcess.objects.create(pk=self.name, **values)
        self._last_beat = time.monotonic()

    def _run(self) -> None:
        # Alive before the first look, so that an order in between is obeyed.
        self._guarded(self.beat)
        self._guarded(self.poll)
        while not self._stopping.wait(self.interval):
            self._guarded(self.poll)
        self._guarded(LiveProcess.objects.filter(pk=self.name).delete)
        connections.close_all()

    def _guarded(self, act: Callable[[], object]) -> None:
        try:
            act()
        except Exception as error:  # noqa: BLE001  (a thread that dies obeys nothing)
            log.warning("orders_not_read", error=type(error).__name__)
            connections.close_all()


_starting = threading.Lock()
# By process id: a forked child starts its own.
_listeners: dict[int, Listener] = {}


def listen() -> Listener:
    """Start this process's thread unless it runs."""
    if os.getpid() not in _listeners:
        with _starting:
            if os.getpid() not in _listeners:
                listener = Listener()
                listener.start()
                _listeners[os.getpid()] = listener
                request_finished.connect(shrink_pages, dispatch_uid="shrink pages")
    return _listeners[os.getpid()]


def stop() -> None:
    """Stop this process's thread, if any."""
    listener = _listeners.pop(os.getpid(), None)
    if listener is not None:
        listener.stop()


# ── Ordering ─────────────────────────────────────────────────────────────────
def order_flush(workspace_id: str) -> int:
    """Order every process to flush, this one at once; return the order's id."""
    number = ForgetOrder.objects.create(workspace_id=workspace_id).pk
    flush(workspace_id)
    LiveProcess.objects.filter(seen_at__lt=Now() - DEAD_AFTER).delete()
    ForgetOrder.objects.filter(at__lt=Now() - ORDERS_KEPT, pk__lt=number).delete()
    return int(number)


def pending(number: int) -> int:
    """Return how many live processes have not obeyed an order."""
    rows = LiveProcess.objects.filter(
        obeyed__lt=number, seen_at__gte=Now() - DEAD_AFTER
    )
    return rows.count()


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


def flush_everywhere(workspace_id: str, beat: Callable[[], None]) -> dict[str, int]:
    """Have every process flush; return how many live, and did not confirm in time."""
    number = order_flush(workspace_id)
    unconfirmed = wait_for_all(number, beat)
    live = LiveProcess.objects.filter(seen_at__gte=Now() - DEAD_AFTER).count()
    return {"processes": live, "unconfirmed": unconfirmed}

"""The end of a process that was asked to end: in time, and with nothing lost."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable
from typing import Final

import structlog
from django.db import connections

from episodic.index.reference_counts import reference_counts
from episodic.recall.question_log import question_log
from memory.measurements import tracing

# What runs gets so long to come to a point where it can stop. Supervisors wait 20 s.
GRACE_SECONDS: Final = 14.0
log = structlog.get_logger(__name__)


def flush_and_exit() -> None:
    """End the process after flushing what is buffered in memory.

    Not through the interpreter's own end: it would wait for a long task, and take the
    model apart under the threads that use it. Nothing is lost: what was acknowledged is
    committed, and what was cut off is swept again.
    """
    try:
        for drain in (reference_counts.drain, question_log.drain, tracing.stop):
            _attempt(drain)
        connections.close_all()
        logging.shutdown()
        sys.stdout.flush()
    finally:
        os._exit(0)


def _attempt(act: Callable[[], object]) -> None:
    """Do one thing of the end: what it cannot do keeps the process from no other."""
    try:
        act()
    except Exception as error:  # noqa: BLE001  (nobody is there to handle it)
        log.warning("not_flushed", error=type(error).__name__)


def after(seconds: float = GRACE_SECONDS) -> threading.Timer:
    """End the process after so many seconds, unless it ends before."""
    timer = threading.Timer(seconds, flush_and_exit)
    timer.name, timer.daemon = "deadline", True
    timer.start()
    return timer

"""The end of a process that was asked to end: in time, and with nothing lost."""

from __future__ import annotations

import logging
import os
import sys
import threading
from typing import Final

from django.db import connections

from episodic.index.reference_counts import reference_counts
from episodic.recall.question_log import question_log
from memory.measurements import tracing

# What runs gets so long to come to a point where it can stop. Supervisors wait 20 s.
GRACE_SECONDS: Final = 14.0


def flush_and_exit() -> None:
    """End the process after flushing what is buffered in memory.

    Not through the interpreter's own end: it would wait for a long task, and take the
    model apart under the threads that use it. Nothing is lost: what was acknowledged is
    committed, and what was cut off is swept again.
    """
    reference_counts.drain()
    question_log.drain()
    tracing.stop()
    connections.close_all()
    logging.shutdown()
    sys.stdout.flush()
    os._exit(0)


def after(seconds: float = GRACE_SECONDS) -> threading.Timer:
    """End the process after so many seconds, unless it ends before."""
    timer = threading.Timer(seconds, flush_and_exit)
    timer.name, timer.daemon = "deadline", True
    timer.start()
    return timer

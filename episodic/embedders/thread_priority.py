"""The scheduling priority of threads that work in the background."""

from __future__ import annotations

import os
import sys
import threading
from typing import Final

# By how much background work has a lower priority than requests, in niceness.
NICENESS: Final = 10


def lower() -> None:
    """Lower this thread's priority below that of requests; it never raises it.

    Linux weighs every thread by itself; elsewhere this would slow the whole process.
    """
    if sys.platform == "linux":
        thread_id = threading.get_native_id()
        own = os.getpriority(os.PRIO_PROCESS, thread_id)
        os.setpriority(os.PRIO_PROCESS, thread_id, max(own, NICENESS))

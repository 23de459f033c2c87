"""The effort of a call, to compare with the effort of another on the same machine.

Only ratios mean something: how fast a machine is, is no property of the code.
"""

from __future__ import annotations

import time
from collections.abc import Callable


def effort(act: Callable[[], object], times: int = 3) -> float:
    """Return the least processor time that a call took in this thread, in seconds."""
    seconds = []
    for _ in range(times):
        started_at = time.thread_time()
        act()
        seconds.append(time.thread_time() - started_at)
    return min(seconds)

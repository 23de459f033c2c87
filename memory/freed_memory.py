"""Freed memory, given back to the system.

Loading a large workspace passes its rows through memory; the C library keeps what was
freed, a tenth of what the process holds.
"""

from __future__ import annotations

import ctypes
import sys


def give_back() -> None:
    """Give freed memory back, where the C library is one that can (glibc)."""
    if sys.platform != "linux":
        return
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return
    trim(0)

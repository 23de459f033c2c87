"""Freed memory, given back to the system or used again.

A large load passes its rows through memory, and a question about a million entries
takes megabytes for a moment. The C library keeps what was freed: after a load a tenth
of what the process holds, and after questions as much for each thread that answered.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Final

# ``M_ARENA_MAX`` of glibc's malloc.h.
_ARENA_MAX: Final = -8


def _function(name: str) -> Any:
    """Return a function of the C library, None where it has none of that name."""
    if sys.platform != "linux":
        return None
    try:
        return getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError):
        return None


def give_back() -> None:
    """Give freed memory back, where the C library is one that can (glibc)."""
    trim = _function("malloc_trim")
    if trim is not None:
        trim(0)


def share() -> None:
    """Let all threads that start from now on use what any of them freed."""
    option = _function("mallopt")
    if option is not None:
        option(_ARENA_MAX, 1)

"""How far a share that was counted may be from the true one."""

from __future__ import annotations

import math
from typing import Final

# Of a normal distribution, for 95 in 100.
_Z: Final = 1.959964


def wilson(count: int, total: int) -> tuple[float, float]:
    """Return Wilson's score interval of ``count`` in ``total`` at 95 %.

    With nothing counted any share is possible: 0 to 1.
    """
    if not total:
        return 0.0, 1.0
    share, square = count / total, _Z**2 / total
    middle = share + square / 2
    half = _Z * math.sqrt(share * (1 - share) / total + square / (4 * total))
    low, high = (middle - half) / (1 + square), (middle + half) / (1 + square)
    return max(low, 0.0), min(high, 1.0)

"""Wilson's interval, against values worked out elsewhere."""

from __future__ import annotations

import pytest

from memory.rules import intervals


# Brown, Cai and DasGupta, Interval Estimation for a Binomial Proportion (2001), section
# 3.1.1, gives the formula; the values are those of R's prop.test without correction.
@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    [
        (0, 10, 0.0, 0.27754),
        (10, 10, 0.72246, 1.0),
        (2, 10, 0.05668, 0.50984),
        (50, 100, 0.40383, 0.59617),
        (0, 0, 0.0, 1.0),
    ],
)
def test_the_interval(count: int, total: int, low: float, high: float) -> None:
    assert intervals.wilson(count, total) == pytest.approx((low, high), abs=1e-5)

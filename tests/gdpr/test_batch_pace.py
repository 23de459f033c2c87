"""How many rows a batch erases, and how long other writers get the lock after it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gdpr.erasure import execute
from gdpr.erasure.execute import BATCH, LOCK_SECONDS, MAX_BATCH, MIN_BATCH, Pace


def test_a_batch_fits_into_the_time_it_may_hold_the_lock() -> None:
    pace = Pace()
    assert pace.rows == BATCH
    pace.record(LOCK_SECONDS)
    assert pace.rows == BATCH
    pace.record(LOCK_SECONDS * BATCH / 40)
    assert pace.rows == 40
    pace.record(10)
    assert pace.rows == MIN_BATCH


def test_batches_grow_by_no_more_than_double_up_to_a_limit() -> None:
    pace, sizes = Pace(), []
    for _ in range(5):
        pace.record(0.0)
        sizes.append(pace.rows)
    assert sizes == [100, 200, 400, MAX_BATCH, MAX_BATCH]


def test_the_lock_stays_free_for_as_long_as_it_was_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, slept = [100.0], list[float]()
    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=slept.append)
    monkeypatch.setattr(execute, "time", clock)
    pace = Pace()
    pace.wait()
    pace.record(0.25)
    now[0] += 0.125
    pace.wait()
    now[0] += 1
    pace.wait()
    pace.record(7)
    pace.wait()
    assert slept == pytest.approx([0, 0.125, 0, execute.MAX_PAUSE_SECONDS])

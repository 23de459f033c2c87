"""Shells for the worker: a task carries nothing, may be lost and may run twice."""

from __future__ import annotations

import time
from typing import Final

from celery import current_app, shared_task

from episodic import index

GATHER_SECONDS: Final = 0.06


@shared_task(name="episodic.sweep", ignore_result=True)
def sweep() -> None:
    """Embed what waits, until nothing does."""
    while index.sweep(limit=512).indexed:
        pass


@shared_task(name="episodic.sweep_soon", ignore_result=True)
def sweep_soon() -> None:
    """Wait for a burst of appends to gather, then sweep."""
    time.sleep(GATHER_SECONDS)
    sweep()


class Nudge:
    """Wakes the worker after an append, at most once per gathering time.

    An append within that time needs no second message: the sweep that was asked for
    has not looked at the database yet. A lost message costs one tick of the clock.
    """

    def __init__(self) -> None:
        self._last = 0.0

    def __call__(self, **kwargs: object) -> None:
        """Receive the journal's signal."""
        now = time.monotonic()
        if not kwargs.get("embeddable") or now - self._last < GATHER_SECONDS / 2:
            return
        if not current_app.conf.get("crewship_delivers"):
            return
        self._last = now
        sweep_soon.delay()


nudge = Nudge()

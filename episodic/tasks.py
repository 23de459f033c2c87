"""Shells for the worker: a task carries nothing, may be lost and may run twice."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Final

from celery import current_app, shared_task

from episodic import consolidation, decay, health, index
from memory import jobs
from memory.jobs import Job, Outcome

GATHER_SECONDS: Final = 0.06


def _sweep(_home: str = jobs.HOUSE) -> Outcome:
    """Embed what waits, until nothing does."""
    total = index.Report()
    while True:
        one = index.sweep(limit=512)
        total.add(one)
        if not one.indexed:
            break
    counts = {"indexed": total.indexed, "failed": total.failed}
    if total.failed:
        told = f"{total.failed:,} could not be embedded; the index page names them"
        return Outcome(counts, told)
    return Outcome(counts)


def _decay(home: str) -> Outcome:
    report = decay.run(home)
    return Outcome({"rows": report.rows, "changed": report.changed})


def _health(home: str) -> Outcome:
    return Outcome({"snapshots": len(health.take(home))})


def _consolidate(home: str) -> Outcome:
    report = consolidation.of_clock(home)
    counts = {
        "entries": sum(one.considered for one in report),
        "proposed": sum(len(one.proposed) for one in report),
        "pins": sum(one.pins for one in report),
    }
    faults = [f"{one.crew}: {one.error}" for one in report if one.error]
    return Outcome(counts, "; ".join(faults)[:400])


def install() -> None:
    """Put the first floor's jobs on the timetable."""
    jobs.register(
        Job(
            name="consolidation",
            title="Consolidation",
            schedule="every 6 h",
            act=_consolidate,
            every=timedelta(hours=6),
        )
    )
    jobs.register(
        Job(
            name="index_sweep",
            title="Index sweep",
            schedule="every 5 s",
            act=_sweep,
            house_wide=True,
        )
    )
    jobs.register(
        Job(
            name="decay",
            title="Importance decay",
            schedule="nightly, after compaction",
            act=_decay,
            night=20,
        )
    )
    jobs.register(
        Job(
            name="health",
            title="Health snapshots",
            schedule="nightly, after decay",
            act=_health,
            night=30,
        )
    )


@shared_task(name="episodic.sweep", ignore_result=True)
def sweep() -> None:
    """Embed what waits, and note it when there was something."""
    jobs.note("index_sweep", _sweep)
    health.begin()
    consolidation.begin()


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

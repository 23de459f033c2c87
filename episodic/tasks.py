"""Tasks of the worker: each may be lost and may run twice."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Final

from celery import current_app, shared_task

from episodic.consolidation import run as consolidation
from episodic.embedders.rests import rests
from episodic.health import snapshots as health
from episodic.index import decay, engine, waiting
from episodic.index import sweep as index
from episodic.map import compute as memory_map
from episodic.recall import nudges
from episodic.vectors import pg_pages
from memory.jobs import dispatch, time_box
from memory.jobs import registry as jobs
from memory.jobs.queues import one_at_a_time
from memory.jobs.registry import Outcome

# How long a burst of appends is gathered; whoever asks meanwhile embeds its own.
GATHER_SECONDS: Final = 0.06
# While appends keep coming, a sweep is followed by a pause of so many times its own
# length, so that it does not query the database more often than is useful.
PAUSE: Final = 1
LONGEST_PAUSE: Final = 0.15
LATE_SECONDS: Final = 5.0
SWEEP: Final = 512
SWEEP_TASK: Final = "episodic.sweep"


def embed_pending(
    _home: str = jobs.ALL_WORKSPACES, *, only_new: bool = False
) -> Outcome:
    """Embed pending entries until none is left, or its time is over."""
    total = index.Report()
    while True:
        batch = index.sweep(limit=SWEEP, only_new=only_new)
        total.add(batch)
        is_last = batch.indexed + batch.skipped + batch.failed < SWEEP
        if is_last or time_box.is_over():
            break
    counts = {"indexed": total.indexed, "failed": total.failed}
    if total.failed:
        note = f"{total.failed:,} could not be embedded; the index page names them"
        return Outcome(counts, note)
    return Outcome(counts)


def lower_importance(home: str) -> Outcome:
    pg_pages.fit(home, engine.embedder().dim)
    report = decay.run(home)
    return Outcome({"rows": report.rows, "changed": report.updated})


def take_snapshots(home: str) -> Outcome:
    return Outcome({"snapshots": len(health.take(home))})


def draw_map(home: str) -> Outcome:
    return Outcome({"points": memory_map.compute(home)})


def forget_nudges(_home: str) -> Outcome:
    return Outcome({"nudges": nudges.forget()})


@shared_task(name=SWEEP_TASK, ignore_result=True)
@one_at_a_time("embedding")
def sweep() -> None:
    """Embed pending entries, and log it when there were any."""
    with time_box.of(time_box.SWEEP_SECONDS) as box:
        jobs.note("index_sweep", embed_pending)
    if box.is_cut and current_app.conf.get("crewship_delivers"):
        # Behind whatever came meanwhile.
        dispatch.send(SWEEP_TASK)


@shared_task(name="episodic.begin", ignore_result=True)
@one_at_a_time("beginning")
def begin() -> None:
    """Do what a workspace's first entries set going."""
    health.begin()
    consolidation.begin()
    memory_map.begin()


@shared_task(name="episodic.sweep_soon", ignore_result=True)
@one_at_a_time("embedding")
def sweep_soon() -> None:
    """Wait for a burst of appends to end, then embed the pending entries."""
    time.sleep(pacing.wait())
    embed_soon()


def embed_soon() -> None:
    """Embed what was appended; rows of another model wait for the scheduled sweep."""
    start = time.monotonic()
    with time_box.of(time_box.SWEEP_SECONDS):
        jobs.note("index_sweep", partial(embed_pending, only_new=True))
    pacing.swept(start, time.monotonic())


@shared_task(name=waiting.LINK_TASK, ignore_result=True)
def link(entry_ids: list[str]) -> None:
    """Link entries that a question embedded; may be lost, and may run twice."""
    waiting.link(entry_ids)


class Pacing:
    """Says when the next sweep may start: soon after an append, not right after one."""

    def __init__(self) -> None:
        self._rested_at = 0.0

    def wait(self) -> float:
        """Return the seconds to wait for more appends, and for the last sweep's pause.

        An append after a while of silence waits for the gathering alone.
        """
        return max(GATHER_SECONDS, self._rested_at - time.monotonic())

    def swept(self, start: float, end: float) -> None:
        """Record a sweep, by the monotonic clock."""
        self._rested_at = end + min(PAUSE * (end - start), LONGEST_PAUSE)


class Nudge:
    """Wakes the sweep after an append.

    ``wake`` is set where it runs in a thread of this process. Elsewhere a worker has to
    be sent a message, one per half gathering time: a lost one costs the wait for the
    next scheduled sweep.
    """

    def __init__(self) -> None:
        self.wake: Callable[[], None] | None = None
        self._last = 0.0

    def __call__(self, **kwargs: object) -> None:
        """Handle the journal's signal."""
        rests.note_append()
        if not kwargs.get("embeddable"):
            return
        if self.wake is not None:
            self.wake()
            return
        now = time.monotonic()
        if now - self._last < GATHER_SECONDS / 2:
            return
        if not current_app.conf.get("crewship_delivers"):
            return
        self._last = now
        # A late message is useless: the scheduled sweep ran meanwhile.
        dispatch.send(sweep_soon.name, expires=LATE_SECONDS)


pacing = Pacing()
nudge = Nudge()

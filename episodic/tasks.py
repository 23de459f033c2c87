"""Tasks of the worker: each may be lost and may run twice."""

from __future__ import annotations

import threading
import time
from typing import Final

from celery import current_app, shared_task

from episodic.consolidation import run as consolidation
from episodic.health import snapshots as health
from episodic.index import decay, waiting
from episodic.index import sweep as index
from episodic.recall import nudges
from memory.jobs import dispatch
from memory.jobs import registry as jobs
from memory.jobs.registry import Outcome

GATHER_SECONDS: Final = 0.06
# While appends keep coming, a sweep is followed by a pause of so many times its own
# length, so that it does not query the database more often than is useful.
PAUSE: Final = 3
LONGEST_GATHER: Final = 0.35
# A message that was not consumed in this time is lost, or another process took it.
LOST_SECONDS: Final = 1.0
LATE_SECONDS: Final = 5.0
SWEEP: Final = 512


def embed_pending(_home: str = jobs.ALL_WORKSPACES) -> Outcome:
    """Embed pending entries until none is left."""
    total = index.Report()
    while True:
        batch = index.sweep(limit=SWEEP)
        total.add(batch)
        if batch.indexed + batch.skipped + batch.failed < SWEEP:
            break
    counts = {"indexed": total.indexed, "failed": total.failed}
    if total.failed:
        note = f"{total.failed:,} could not be embedded; the index page names them"
        return Outcome(counts, note)
    return Outcome(counts)


def lower_importance(home: str) -> Outcome:
    report = decay.run(home)
    return Outcome({"rows": report.rows, "changed": report.updated})


def take_snapshots(home: str) -> Outcome:
    return Outcome({"snapshots": len(health.take(home))})


def consolidate(home: str) -> Outcome:
    report = consolidation.on_schedule(home)
    counts = {
        "entries": sum(crew.considered for crew in report),
        "proposed": sum(len(crew.proposed) for crew in report),
        "pins": sum(crew.pins for crew in report),
    }
    faults = [f"{crew.crew}: {crew.error}" for crew in report if crew.error]
    return Outcome(counts, "; ".join(faults)[:400])


def forget_nudges(_home: str) -> Outcome:
    return Outcome({"nudges": nudges.forget()})


_beginning = threading.Lock()


@shared_task(name="episodic.sweep", ignore_result=True)
def sweep() -> None:
    """Embed pending entries, and log it when there were any.

    What a workspace's first entries set going may take long: one thread at a time does
    it, so that another stays free for what is appended meanwhile.
    """
    jobs.note("index_sweep", embed_pending)
    if _beginning.acquire(blocking=False):
        try:
            health.begin()
            consolidation.begin()
        finally:
            _beginning.release()


@shared_task(name="episodic.sweep_soon", ignore_result=True)
def sweep_soon() -> None:
    """Wait for a burst of appends to end, then embed the pending entries."""
    time.sleep(nudge.gather)
    nudge.sweep_started()
    start = time.monotonic()
    jobs.note("index_sweep", embed_pending)
    nudge.record_duration(time.monotonic() - start)


@shared_task(name=waiting.LINK_TASK, ignore_result=True)
def link(entry_ids: list[str]) -> None:
    """Link entries that a question embedded; may be lost, and may run twice."""
    waiting.link(entry_ids)


class Nudge:
    """Wakes the worker after an append, unless a sweep is about to start anyway.

    Where the worker is a thread of this process, one message is under way at a time:
    the requested sweep has not read the database yet. For a worker that
    is elsewhere there is one message per half gathering time. A lost message costs
    the wait for the next scheduled sweep.
    """

    def __init__(self) -> None:
        self._last = 0.0
        self._is_pending = self._is_local = False
        self.gather = GATHER_SECONDS

    def __call__(self, **kwargs: object) -> None:
        """Handle the journal's signal."""
        if not kwargs.get("embeddable"):
            return
        now = time.monotonic()
        pause = (
            LOST_SECONDS if self._is_local and self._is_pending else GATHER_SECONDS / 2
        )
        if self._is_local and not self._is_pending:
            pause = 0.0
        if now - self._last < pause:
            return
        if not current_app.conf.get("crewship_delivers"):
            return
        self._last, self._is_pending = now, True
        # A late message is useless: the scheduled sweep ran meanwhile.
        dispatch.send(sweep_soon.name, expires=LATE_SECONDS)

    def sweep_started(self) -> None:
        """Record that a sweep of this process is about to start."""
        self._is_local, self._is_pending = True, False

    def record_duration(self, seconds: float) -> None:
        """Set the pause before the next sweep from the length of the last one."""
        self.gather = max(GATHER_SECONDS, min(PAUSE * seconds, LONGEST_GATHER))


nudge = Nudge()

"""The scheduler of ``celery beat``: in memory, and its loop gives a sign of life."""

from __future__ import annotations

import time
from typing import Any, Final

import structlog
from celery.beat import ScheduleEntry, Scheduler, SchedulingError
from django.db import Error, connections

from memory.jobs import backlogs, pulses, queues

log = structlog.get_logger(__name__)


# A clock that was set back by less only makes a task wait that much longer.
STEP_SECONDS: Final = 1.0


class SteadyScheduler(Scheduler):
    """Goes on when the machine's clock is set back.

    Celery's own then sends nothing until the clock is where it was.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._looked_at = time.time()

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Send at most one task that is due; return the seconds to wait."""
        now = time.time()
        if now < self._looked_at - STEP_SECONDS:
            log.warning("clock_set_back", seconds=round(self._looked_at - now))
            for entry in self.schedule.values():
                entry.last_run_at = entry.default_now()
            self.populate_heap()
        self._looked_at = now
        return float(super().tick(*args, **kwargs))


class Clock(SteadyScheduler):
    """Sends what is due. A schedule file would outlive the timetable it came from."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._pulse = pulses.Pulse((), is_clock=True)
        self._beat_at = 0.0

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Give a sign of life, and go on."""
        if time.monotonic() >= self._beat_at:
            self._beat_at = time.monotonic() + pulses.BEAT_SECONDS
            self._beat()
        return super().tick(*args, **kwargs)

    def _beat(self) -> None:
        try:
            self._pulse.beat()
        except Error as error:
            log.warning("pulse_missed", error=type(error).__name__)
        finally:
            connections.close_all()

    def apply_entry(self, entry: ScheduleEntry, producer: Any = None) -> None:
        """Send a task, unless so many wait already that one more sets nothing going."""
        queue = (entry.options or {}).get("queue") or queues.ROUTES[str(entry.task)]
        if backlogs.is_full(queue):
            return
        try:
            self.apply_async(entry, producer=producer, advance=False)
        except SchedulingError:
            # Celery's own line has the whole stack, for each task that is due.
            log.warning("message_not_sent", task=entry.task)

    def close(self) -> None:
        """End, and say that no clock runs here any more."""
        super().close()
        try:
            self._pulse.end()
        except Error as error:
            log.warning("pulse_missed", error=type(error).__name__)

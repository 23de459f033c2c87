"""What waits in the queues, who serves them, and what runs, for the page of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.db.models import Q
from django.utils.translation import gettext, gettext_noop

from memory.jobs import backlogs, pulses, queues
from memory.jobs import registry as jobs
from memory.jobs.backlogs import Backlog
from memory.models import JobRun, RunState, WorkerProcess
from memory.rules.permissions import Actor

# What the page calls them.
TITLES: Final = {
    queues.EMBEDDING: gettext_noop("Embedding"),
    queues.PERSONAL_DATA: gettext_noop("Personal data"),
    queues.MAIL: gettext_noop("Mail and webhooks"),
    queues.CLOCK: gettext_noop("Short jobs"),
    queues.BATCH: gettext_noop("Long jobs and the night"),
}


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One queue; ``backlog`` is None where it is not known."""

    name: str
    title: str
    processes: int
    backlog: Backlog | None
    running: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueuesOverview:
    """Every queue, and whether a clock runs."""

    rows: list[QueueRow]
    has_clock: bool

    @property
    def unserved(self) -> list[QueueRow]:
        """The queues that nobody serves."""
        return [row for row in self.rows if not row.processes]


def _running(actor: Actor) -> dict[str, list[str]]:
    """Return the titles of the jobs that run, by queue, as the actor may see them."""
    visible = Q(workspace_id=actor.workspace_id) | Q(workspace_id=None)
    names = JobRun.objects.filter(visible, state=RunState.RUNNING)
    running = set(names.order_by().values_list("name", flat=True))
    titles: dict[str, list[str]] = {name: [] for name in queues.ALL}
    for job in jobs.registered():
        if job.name in running:
            titles[job.runs_in].append(gettext(job.title))
    return titles


def _rows(actor: Actor, processes: Sequence[WorkerProcess]) -> list[QueueRow]:
    counts, running = pulses.served_by(processes), _running(actor)
    backlog_of = backlogs.read()
    return [
        QueueRow(
            name=name,
            title=gettext(TITLES[name]),
            processes=counts[name],
            backlog=backlog_of.get(name),
            running=tuple(running[name]),
        )
        for name in queues.ALL
    ]


def overview(actor: Actor) -> QueuesOverview | None:
    """Return every queue; None where nothing is known of any."""
    actor.require("jobs.read")
    processes = list(pulses.live())
    if not processes and not settings.REDIS_URL:
        return None
    has_clock = any(process.is_clock for process in processes)
    return QueuesOverview(_rows(actor, processes), has_clock)

"""Long work as people see it: how far it is, what came of it, what was not done.

One shape for the runs of jobs and whatever else takes its time; ``_work.html`` and
``_work_bar.html`` show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from memory.jobs import registry as jobs
from memory.jobs import status as job_status
from memory.jobs.progress import MAX_ITEMS, POSITION, ResultLine
from memory.jobs.status import RunView
from memory.models import JobRun, RunState
from memory.rules import errors
from memory.rules.permissions import Actor

# The rest is estimated once so much is done: an earlier figure would jump about.
LEAST_SHARE: Final = 0.02
LEAST_SECONDS: Final = 3.0


@dataclass(frozen=True, slots=True)
class Work:
    """Something that takes its time: its progress, its end and its result.

    ``total`` is None while it is unknown. ``is_even`` says that what is counted takes
    about as long each, so that the rest can be estimated. ``url`` is its own address,
    ``repeat_url`` where a form starts it again, "" where that is not offered.
    """

    title: str
    url: str
    colour: str
    word: str
    is_live: bool
    done: int
    total: int | None
    unit: str
    started_at: datetime | None
    ended_at: datetime | None
    summary: str = ""
    fault: str = ""
    lines: Sequence[ResultLine] = ()
    repeat_url: str = ""
    is_even: bool = True

    @property
    def element_id(self) -> str:
        """The id of its element, the same at every refresh."""
        return "work-" + "-".join(part for part in self.url.split("/") if part)

    @property
    def has_bar(self) -> bool:
        """Whether a bar says something: it is under way, or ended before its end."""
        return self.is_live or bool(self.total and self.done < self.total)

    @property
    def is_cut(self) -> bool:
        """Whether more was named than is listed."""
        return len(self.lines) >= MAX_ITEMS

    @property
    def seconds(self) -> float:
        """How long it has run, or ran; 0 before it began."""
        if self.started_at is None:
            return 0.0
        return ((self.ended_at or timezone.now()) - self.started_at).total_seconds()

    @property
    def rest_seconds(self) -> float | None:
        """How long it still takes, about; None while that cannot be known."""
        if not (self.is_live and self.is_even and self.total):
            return None
        seconds = self.seconds
        if seconds < LEAST_SECONDS or self.done < LEAST_SHARE * self.total:
            return None
        return max(0.0, seconds * (self.total - self.done) / self.done)


def of_run(actor: Actor, view: RunView) -> Work:
    """Return the run of a job as work; the view hides what the actor may not read."""
    run, job = view.run, jobs.get(view.run.name)
    word, fault, is_live = view.word, view.fault, view.is_open
    if view.stuck:
        fault = f"{view.stuck[:1].upper()}{view.stuck[1:]}"
        is_live = timezone.now() - run.heartbeat_at <= jobs.STALE
        is_running = run.state == RunState.RUNNING
        word = gettext("Stopped") if is_running else gettext("Not started")
        word = gettext("Running") if is_live else word
    may_start = actor.can("jobs.run") and actor.can(job.permission)
    may_repeat = may_start and not is_live and run.state in job.repeats
    return Work(
        title=gettext(job.title),
        url=reverse("jobs:work", args=[job.name, run.pk]),
        colour=view.colour,
        word=word,
        is_live=is_live,
        done=0 if view.is_secret else run.done,
        total=None if view.is_secret else run.total,
        unit=run.unit,
        started_at=None if run.state == RunState.WAITING else run.started_at,
        ended_at=run.ended_at or (None if is_live else run.heartbeat_at),
        summary="" if is_live else view.summary,
        fault=fault,
        lines=() if view.is_secret else job.lines(actor.workspace_id, run.items),
        repeat_url=reverse("jobs:repeat", args=[job.name, run.pk])
        if may_repeat
        else "",
    )


def latest(actor: Actor, name: str, *, within: timedelta) -> Work | None:
    """Return the newest run of a job that is open or ended a short while ago."""
    view = job_status.newest(actor, name)
    if view is None or not (
        view.is_open or timezone.now() - view.run.heartbeat_at < within
    ):
        return None
    return of_run(actor, view)


def of_id(actor: Actor, name: str, run_id: int) -> Work:
    """Return one run as work; NotFound for another workspace's."""
    return of_run(actor, job_status.run_of(actor, name, run_id))


def repeat(actor: Actor, name: str, run_id: int) -> JobRun:
    """Start a run again that did not end well, for the same thing."""
    view = job_status.run_of(actor, name, run_id)
    if view.run.state == RunState.WAITING:
        detail = gettext("That run still waits for the worker.")
        raise errors.Conflict(detail, code="job_waiting")
    if view.run.state not in jobs.get(name).repeats:
        raise errors.Conflict(gettext("That run has done its work."), code="job_done")
    params = {
        name: value
        for name, value in view.run.params.items()
        if not name.startswith("by_") and name != POSITION
    }
    return jobs.run_now(name, by=actor, params=params)

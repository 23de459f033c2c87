"""The status of scheduled jobs as people see it: last runs, stuck and failed jobs.

A workspace sees its own runs and the installation-wide ones. Counts and errors of an
installation-wide run are hidden when there are other workspaces, whose data they tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Max, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from memory.jobs import claims, slots, words
from memory.jobs import registry as jobs
from memory.jobs.registry import Job
from memory.models import JobRun, RunState, Workspace
from memory.rules import errors
from memory.rules.permissions import Actor

HISTORY: Final = 30
RECENT_RUNS: Final = 1_000
# The database has no larger number.
MAX_ID: Final = 2**63 - 1
LABELS: Final = {
    RunState.WAITING: ("", gettext_noop("Waiting")),
    RunState.RUNNING: ("", gettext_noop("Running")),
    RunState.DONE: ("green", gettext_noop("Done")),
    RunState.PARTLY: ("yellow", gettext_noop("Partly")),
    RunState.FAILED: ("red", gettext_noop("Failed")),
}


@dataclass(frozen=True, slots=True)
class RunView:
    """One run as people read it; ``stuck`` is why it counts as stuck, else empty."""

    run: JobRun
    stuck: str
    is_secret: bool

    @property
    def colour(self) -> str:
        return "red" if self.stuck else LABELS[RunState(self.run.state)][0]

    @property
    def word(self) -> str:
        word = LABELS[RunState(self.run.state)][1]
        return gettext("Stuck") if self.stuck else gettext(word)

    @property
    def is_open(self) -> bool:
        return self.run.ended_at is None

    @property
    def counts(self) -> dict[str, int]:
        return {} if self.is_secret else dict(self.run.counts)

    @property
    def summary(self) -> str:
        """What it did, in words."""
        if self.is_secret:
            return ""
        text = words.summary(self.run.counts)
        return text or ("" if self.is_open else gettext("nothing to do"))

    @property
    def unit_words(self) -> str:
        """What it works through, in the reader's language."""
        return words.unit(self.run.unit)

    @property
    def fault(self) -> str:
        """Why it failed, or what was not done."""
        if not self.run.error:
            return ""
        if self.is_secret:
            return gettext("told to the administrator")
        return words.fault(self.run.error)

    @property
    def asked_by(self) -> str:
        """Who started it, "" for the scheduler."""
        return "" if self.is_secret else self.run.asked_by


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job with its last run, None before the first, and when it runs next."""

    job: Job
    last: RunView | None
    next_at: datetime | None

    @property
    def has_failed(self) -> bool:
        """Whether its last run failed."""
        return self.last is not None and self.last.run.state == RunState.FAILED


@dataclass(frozen=True, slots=True)
class JobsOverview:
    """Every job, and those that need attention."""

    lines: list[JobRow]

    @property
    def stuck(self) -> list[JobRow]:
        return [line for line in self.lines if line.last and line.last.stuck]

    @property
    def failed(self) -> list[JobRow]:
        return [line for line in self.lines if line.has_failed]

    @property
    def finding(self) -> str:
        """The state of all jobs in a sentence."""
        stuck, failed = self.stuck, self.failed
        if len(stuck) == 1:
            return gettext("{job} is stuck").format(job=gettext(stuck[0].job.title))
        if stuck:
            sentence = gettext("{count} jobs are stuck")
            return sentence.format(count=len(stuck))
        if len(failed) == 1:
            sentence = gettext("{job} did not finish the last time")
            return sentence.format(job=gettext(failed[0].job.title))
        if failed:
            sentence = gettext("{count} jobs did not finish the last time")
            return sentence.format(count=len(failed))
        if not any(line.last for line in self.lines):
            return gettext("No job has run yet")
        return gettext("Every job that ran finished its work")


def _is_shared() -> bool:
    return Workspace.objects.count() > 1


def _visible(actor: Actor) -> QuerySet[JobRun]:
    visible = Q(workspace_id=actor.workspace_id) | Q(workspace_id=None)
    return JobRun.objects.filter(visible)


def stuck_reason(run: JobRun, longest: timedelta, now: datetime) -> str:
    """Return why a run counts as stuck, "" when it does not."""
    if run.ended_at is not None:
        return ""
    if run.state == RunState.WAITING:
        late = now - run.heartbeat_at > 2 * jobs.STALE
        return gettext("no worker has taken it") if late else ""
    if run.claimed_by == claims.CUT:
        late = now - run.heartbeat_at > claims.TURN
        return gettext("no worker has taken it") if late else ""
    if now - run.heartbeat_at > jobs.STALE:
        return gettext("its process gives no sign of life")
    late = now - run.started_at > longest
    return gettext("it runs longer than it ever should") if late else ""


def _run_view(job: Job, run: JobRun, *, is_shared: bool, now: datetime) -> RunView:
    is_secret = is_shared and run.workspace_id is None
    return RunView(run, stuck_reason(run, job.longest, now), is_secret)


def _next(job: Job, now: datetime) -> datetime | None:
    if job.interval is not None:
        return slots.slot_of(job.interval, now) + job.interval
    return None if job.night is None else slots.last_night(now) + timedelta(days=1)


def overview(actor: Actor) -> JobsOverview:
    """Return every job with its last run."""
    actor.require("jobs.read")
    now, is_shared = timezone.now(), _is_shared()
    newest = _visible(actor).order_by().values("name").annotate(last=Max("pk"))
    runs = JobRun.objects.filter(pk__in=newest.values("last"))
    last = {run.name: run for run in runs}
    lines = []
    for job in jobs.registered():
        run = last.get(job.name)
        view = _run_view(job, run, is_shared=is_shared, now=now) if run else None
        lines.append(JobRow(job, view, _next(job, now)))
    return JobsOverview(lines)


def failed_since(actor: Actor, at: datetime) -> QuerySet[JobRun]:
    """Return the runs that failed since a moment, of the newest ``RECENT_RUNS``."""
    actor.require("jobs.read")
    newest = _visible(actor).order_by("-pk").values("pk")[:RECENT_RUNS]
    rows = JobRun.objects.filter(pk__in=newest, state=RunState.FAILED, ended_at__gte=at)
    return rows.filter(name__in=[job.name for job in jobs.registered()])


def history(actor: Actor, name: str) -> tuple[Job, list[RunView]]:
    """Return the last runs of a job, newest first."""
    actor.require("jobs.read")
    job, now, is_shared = jobs.get(name), timezone.now(), _is_shared()
    runs = _visible(actor).filter(name=name).order_by("-pk")[:HISTORY]
    return job, [_run_view(job, run, is_shared=is_shared, now=now) for run in runs]


def run_of(actor: Actor, name: str, run_id: int) -> RunView:
    """Return one run of a job, or raise NotFound."""
    actor.require("jobs.read")
    jobs.get(name)
    rows = _visible(actor).filter(name=name)
    run = rows.filter(pk=run_id).first() if run_id <= MAX_ID else None
    if run is None:
        raise errors.NotFound
    return run_view(actor, run)


def newest(actor: Actor, name: str) -> RunView | None:
    """Return the newest run of a job that the actor may read, None before the first."""
    if not actor.can("jobs.read"):
        return None
    run = _visible(actor).filter(name=name).order_by("-pk").first()
    return run_view(actor, run) if run is not None else None


def run_view(actor: Actor, run: JobRun) -> RunView:
    """Return one run as this actor may read it."""
    actor.require("jobs.read")
    job = jobs.get(run.name)
    return _run_view(job, run, is_shared=_is_shared(), now=timezone.now())

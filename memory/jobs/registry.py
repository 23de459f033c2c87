"""Scheduled jobs: registering them, claiming a run, running it, recording the result.

The table of jobs is ``crewship_memory.jobs``; this module knows none of them. A run is
claimed by inserting (job, slot), so of two schedulers one does the work. While it runs,
a thread updates its heartbeat; a run whose process died is taken over by the next tick
that wants the slot. A job that fails is recorded with its cause and stops no other.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Final

import structlog
from celery import current_app
from django.db import IntegrityError, transaction
from django.utils import timezone

from memory.installation import identity as installation
from memory.installation import schema_version
from memory.jobs import dispatch, heartbeat, progress, words
from memory.jobs.progress import ResultLine
from memory.measurements import recorded, tracing
from memory.models import JobRun, RunState, Workspace
from memory.ports import serving
from memory.rules import errors
from memory.rules.permissions import Actor

NIGHT: Final = time(3, 0, tzinfo=UTC)
HEARTBEAT_SECONDS: Final = 10.0
# A process without a heartbeat for this long counts as dead.
STALE: Final = timedelta(seconds=60)
MAX_RUNS: Final = 50
ALL_WORKSPACES: Final = ""
LONG: Final = timedelta(hours=1)
ENDED_BADLY: Final = (RunState.RUNNING, RunState.PARTLY, RunState.FAILED)
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run; a ``fault`` says what was not done and makes it "partly"."""

    counts: dict[str, int] = field(default_factory=dict)
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """One scheduled job.

    ``act`` is given a workspace's id, or "" when the job is ``house_wide``. With an
    ``interval`` the tick runs it, ``night`` is its position in the nightly chain; a job
    with neither is started elsewhere and only records its runs here (``note``), or
    runs when it is asked for. ``lines`` words what a run named with ``add_item``; texts
    are read anew, so that nothing erased comes back. ``repeats`` are the states in
    which a run may be started again. ``permission`` is what a person needs besides
    ``jobs.run``.
    """

    name: str
    title: str
    schedule: str
    act: Callable[[str], Outcome]
    _: KW_ONLY
    interval: timedelta | None = None
    night: int | None = None
    house_wide: bool = False
    longest: timedelta = timedelta(hours=1)
    lines: Callable[[str, list[dict[str, str]]], list[ResultLine]] = (
        progress.plain_lines
    )
    repeats: tuple[RunState, ...] = ENDED_BADLY
    permission: str = "jobs.run"


_registry: dict[str, Job] = {}


def register(*jobs: Job) -> None:
    """Add jobs; called at start-up."""
    _registry.update({job.name: job for job in jobs})


def registered() -> list[Job]:
    """Return every job: those without a schedule, by interval, then nightly."""
    return sorted(
        _registry.values(),
        key=lambda job: (job.night or 0, job.interval or timedelta(), job.title),
    )


def get(name: str) -> Job:
    """Return a job, or raise NotFound."""
    if name not in _registry:
        raise errors.NotFound
    return _registry[name]


# ── Claiming ─────────────────────────────────────────────────────────────────
def _worker_id() -> str:
    return f"{socket.gethostname()[:60]}:{os.getpid()}:{secrets.token_hex(4)}"


def _take_over(rows: dict[str, str], worker_id: str, now: datetime) -> JobRun | None:
    """Take a run whose process died; by the conditional UPDATE only one succeeds."""
    dead = JobRun.objects.filter(
        **rows, state=RunState.RUNNING, heartbeat_at__lt=now - STALE
    )
    if dead.update(claimed_by=worker_id, heartbeat_at=now, started_at=now):
        return JobRun.objects.get(**rows)
    return None


def claim(job: Job, workspace_id: str, slot: str) -> JobRun | None:
    """Claim a slot of a job; None when another process has or had it."""
    now, worker_id = timezone.now(), _worker_id()
    key = {"name": job.name, "slot": f"{workspace_id or 'house'} {slot}"}
    if JobRun.objects.filter(**key).exists():
        return _take_over(key, worker_id, now)
    try:
        with transaction.atomic():
            return JobRun.objects.create(
                **key, workspace_id=workspace_id or None, claimed_by=worker_id,
                started_at=now, heartbeat_at=now,
            )  # fmt: skip
    except IntegrityError:
        return None


def cause(error: Exception) -> str:
    """Return why a job failed, as shown to people: never another library's message."""
    if isinstance(error, errors.AppError):
        return error.detail[:400]
    return f"{type(error).__name__}; the server's log has the details"


def _attempt(job: Job, workspace_id: str) -> tuple[RunState, Outcome]:
    try:
        installation.require()
        if workspace_id:
            serving.require(workspace_id)
        with tracing.span(f"job {job.name}"):
            outcome = job.act(workspace_id)
    except errors.Unavailable as error:
        log.warning("job_stopped", job=job.name, why=error.detail)
        return RunState.FAILED, Outcome(fault=cause(error))
    except Exception as error:  # a failing job must not stop the scheduler
        log.exception("job_failed", job=job.name, workspace=workspace_id or None)
        return RunState.FAILED, Outcome(fault=cause(error))
    return (RunState.PARTLY if outcome.fault else RunState.DONE), outcome


def execute(job: Job, run: JobRun) -> JobRun:
    """Run a claimed job and record how it ended."""
    with heartbeat.of_run(run, HEARTBEAT_SECONDS), progress.of_run(run):
        state, outcome = _attempt(job, run.workspace_id or ALL_WORKSPACES)
    now = timezone.now()
    recorded.job_ended(job.name, state, run.started_at, now)
    JobRun.objects.filter(pk=run.pk, claimed_by=run.claimed_by).update(
        state=state,
        counts=outcome.counts,
        error=outcome.fault[:400],
        ended_at=now,
        heartbeat_at=now,
    )
    _prune(run)
    run.refresh_from_db()
    return run


def _prune(run: JobRun) -> None:
    """Delete a job's old runs, except the newest and those that have not ended."""
    rows = JobRun.objects.filter(name=run.name, workspace_id=run.workspace_id)
    edge = rows.order_by("-pk").values_list("pk", flat=True)[MAX_RUNS : MAX_RUNS + 1]
    for last in edge:
        rows.filter(pk__lte=last, ended_at__isnull=False).delete()


# ── Scheduling ───────────────────────────────────────────────────────────────
def _run_all(job: Job, slot: str) -> list[JobRun]:
    """Run a slot of a job, for each workspace or once for the whole installation."""
    workspaces = Workspace.objects.order_by("number").values_list("pk", flat=True)
    runs = []
    for workspace_id in [ALL_WORKSPACES] if job.house_wide else list(workspaces):
        run = claim(job, workspace_id, slot)
        if run is not None:
            runs.append(execute(job, run))
    return runs


def slot_of(interval: timedelta, now: datetime) -> datetime:
    """Return the start of the interval that contains ``now``, counted from 1970."""
    seconds = int(interval.total_seconds())
    return datetime.fromtimestamp(int(now.timestamp()) // seconds * seconds, UTC)


def last_night(now: datetime) -> datetime:
    tonight = datetime.combine(now.astimezone(UTC).date(), NIGHT)
    return tonight if tonight <= now else tonight - timedelta(days=1)


def tick(now: datetime | None = None) -> list[JobRun]:
    """Run the jobs due by interval, and requested runs whose message was lost."""
    schema_version.guard()
    moment, runs = now or timezone.now(), []
    for job in registered():
        if job.interval is not None:
            slot = slot_of(job.interval, moment).strftime("%Y-%m-%dT%H:%M:%SZ")
            runs += _run_all(job, slot)
    overdue = JobRun.objects.filter(
        state=RunState.WAITING, started_at__lt=moment - STALE / 2
    )
    for pk in list(overdue.values_list("pk", flat=True)):
        runs += run_requested(pk)
    return runs


def nightly(now: datetime | None = None) -> list[JobRun]:
    """Run the nightly chain in order, unless it ran for this night already.

    Called more often than nightly, so that a missed night is made up for.
    """
    schema_version.guard()
    slot = f"night of {last_night(now or timezone.now()):%Y-%m-%d}"
    runs = []
    for job in registered():
        if job.night is not None:
            runs += _run_all(job, slot)
    return runs


# ── Runs started elsewhere ───────────────────────────────────────────────────
def note(name: str, act: Callable[[], Outcome]) -> Outcome:
    """Run a job that has its own schedule, and record the run when it did something.

    Runs within a minute share one row: counts and seconds add up. A failure is recorded
    and raised again, unless it is Unavailable.
    """
    schema_version.guard()
    started_at = timezone.now()
    try:
        installation.require()
        outcome = act()
    except Exception as error:
        if isinstance(error, errors.Unavailable):
            log.warning("job_stopped", job=name, why=error.detail)
        failure = Outcome({"times": 1}, cause(error))
        recorded.job_ended(name, RunState.FAILED, started_at, timezone.now())
        _note(name, started_at, RunState.FAILED, failure)
        if not isinstance(error, errors.Unavailable):
            raise
        return failure
    state = RunState.PARTLY if outcome.fault else RunState.DONE
    recorded.job_ended(name, state, started_at, timezone.now())
    if outcome.fault or any(outcome.counts.values()):
        _note(name, started_at, state, outcome)
    return outcome


def _note(name: str, started_at: datetime, state: RunState, outcome: Outcome) -> None:
    now = timezone.now()
    slot = f"house {started_at:%Y-%m-%dT%H:%M} {state}"
    with transaction.atomic():
        run, fresh = JobRun.objects.select_for_update().get_or_create(
            name=name, slot=slot, defaults={"state": state, "started_at": started_at}
        )
        counts = dict(run.counts)
        for key, number in outcome.counts.items():
            counts[key] = counts.get(key, 0) + number
        before = timedelta() if fresh else timedelta(seconds=run.seconds)
        run.started_at, run.ended_at = started_at - before, now
        run.heartbeat_at, run.counts, run.error = now, counts, outcome.fault[:400]
        run.save()
    if fresh:
        _prune(run)


# ── On request ───────────────────────────────────────────────────────────────
def startable(name: str, *, by: Actor) -> Job:
    """Return a job that the actor may start now.

    Raises Conflict ``job_running`` when it is running already.
    """
    by.require("jobs.run")
    job = get(name)
    by.require(job.permission)
    alive = JobRun.objects.filter(
        name=name,
        workspace_id=None if job.house_wide else by.workspace_id,
        state__in=(RunState.RUNNING, RunState.WAITING),
        heartbeat_at__gte=timezone.now() - STALE,
    )
    if alive.exists():
        raise errors.Conflict(words.running_already(job.title), code="job_running")
    return job


def run_now(name: str, *, by: Actor, params: dict[str, str] | None = None) -> JobRun:
    """Run a job now: in the worker if there is one, else in this process.

    ``params`` is what is asked for, in the words of the job. Raises Conflict
    ``job_running`` when it is running already.
    """
    schema_version.guard()
    job = startable(name, by=by)
    workspace_id = ALL_WORKSPACES if job.house_wide else by.workspace_id
    run = JobRun.objects.create(
        name=name,
        slot=f"{workspace_id or 'house'} by hand {secrets.token_hex(8)}",
        workspace_id=workspace_id or None,
        state=RunState.WAITING,
        asked_by=by.label,
        params={**(params or {}), "by_id": by.id, "by_role": by.role.value},
    )
    if current_app.conf.get("crewship_delivers"):
        # Without a broker the tick finds the run waiting.
        transaction.on_commit(lambda: dispatch.send("memory.run_job", [run.pk]))
        return run
    run_requested(run.pk)
    run.refresh_from_db()
    return run


def run_requested(run_id: int) -> list[JobRun]:
    """Do a requested run, unless it is claimed, or long and has to wait its turn."""
    schema_version.guard()
    worker_id, now = _worker_id(), timezone.now()
    rows = JobRun.objects.filter(pk=run_id, state=RunState.WAITING)
    long_names = [job.name for job in registered() if job.longest > LONG]
    live = JobRun.objects.filter(
        name__in=long_names, state=RunState.RUNNING, heartbeat_at__gte=now - STALE
    )
    # One long run at a time: the scheduler needs a thread of the worker as well.
    free = rows.exclude(name__in=long_names) if live.exists() else rows
    is_claimed = free.update(
        state=RunState.RUNNING, claimed_by=worker_id, started_at=now, heartbeat_at=now
    )
    if not is_claimed:
        rows.update(heartbeat_at=now)
        return []
    run = JobRun.objects.get(pk=run_id)
    return [execute(get(run.name), run)]

"""Scheduled jobs: registering them, claiming a run, running it, recording the result.

The table of jobs is ``crewship_memory.jobs``; this module knows none of them. A run is
claimed by inserting (job, slot), so of two schedulers one does the work. While it runs,
a thread updates its heartbeat; a run whose process died is taken over by the next tick
that wants the slot. A run is worked in parts of ``time_box.JOB_SECONDS``: between two
of them nobody has it. A job that fails is recorded with its cause and stops no other.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import structlog
from celery import current_app
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from memory.installation import identity as installation
from memory.installation import schema_version
from memory.jobs import (
    claims,
    dispatch,
    heartbeat,
    notes,
    progress,
    queues,
    slots,
    time_box,
    words,
)
from memory.jobs.claims import CUT
from memory.jobs.progress import ResultLine
from memory.measurements import recorded, tracing
from memory.models import JobRun, RunState, Workspace
from memory.ports import serving
from memory.rules import errors
from memory.rules.permissions import Actor

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
    ``jobs.run``. ``queue`` is where it runs; without one ``clock`` for a job by
    interval, ``batch`` for all others. The schedule says why one is ``unused`` here.
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
    queue: str = ""
    unused: bool = False

    @property
    def runs_in(self) -> str:
        """The queue whose workers run it, but for the nightly chain."""
        if self.queue:
            return self.queue
        return queues.BATCH if self.interval is None else queues.CLOCK


_registry: dict[str, Job] = {}


def register(*jobs: Job) -> None:
    """Add jobs; called at start-up."""
    _registry.update({job.name: job for job in jobs})


def registered() -> list[Job]:
    """Return every job: those without a schedule, by interval, then nightly."""
    rows = _registry.values()
    return sorted(
        rows, key=lambda j: (j.night or 0, j.interval or timedelta(), j.title)
    )


def get(name: str) -> Job:
    """Return a job, or raise NotFound."""
    if name not in _registry:
        raise errors.NotFound
    return _registry[name]


# ── Running ──────────────────────────────────────────────────────────────────
def claim(job: Job, workspace_id: str, slot: str) -> JobRun | None:
    """Claim a slot of a job; None when another process has or had it."""
    return claims.claim(job.name, workspace_id, slot, STALE)


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
    """Run a claimed job and record how it ended, or how far this part came."""
    # Without a worker nobody would come for the next part.
    delivers = current_app.conf.get("crewship_delivers")
    seconds = time_box.JOB_SECONDS if delivers else math.inf
    beating = heartbeat.of_run(run, HEARTBEAT_SECONDS)
    with beating, progress.of_run(run), time_box.of(seconds) as box:
        state, outcome = _attempt(job, run.workspace_id or ALL_WORKSPACES)
    now, fault = timezone.now(), outcome.fault or run.error
    if state == RunState.DONE and fault:
        state = RunState.PARTLY
    is_ended = not box.is_cut or state == RunState.FAILED
    end: dict[str, Any] = {"claimed_by": CUT}
    if is_ended:
        end = {"state": state, "ended_at": now}
    end |= {"counts": notes.added(run.counts, outcome.counts), "error": fault[:400]}
    own = JobRun.objects.filter(pk=run.pk, claimed_by=run.claimed_by)
    if own.update(**end, heartbeat_at=now) and is_ended:
        recorded.job_ended(job.name, state, run.started_at, now)
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
def _run_all(job: Job, slot: str) -> Iterator[JobRun]:
    """Run a slot of a job, for each workspace or once for the whole installation."""
    workspaces = Workspace.objects.order_by("number").values_list("pk", flat=True)
    for workspace_id in [ALL_WORKSPACES] if job.house_wide else list(workspaces):
        if time_box.ending.is_set():
            return
        run = claim(job, workspace_id, slot)
        if run is not None:
            yield execute(job, run)


def _in_queue(queue: str | None) -> list[Job]:
    return [job for job in registered() if queue in (None, job.runs_in)]


def tick(now: datetime | None = None, queue: str | None = None) -> list[JobRun]:
    """Run the jobs due by interval and runs that nobody took, of a queue or all."""
    schema_version.guard()
    moment, runs = now or timezone.now(), list[JobRun]()
    for job in _in_queue(queue):
        if job.interval is not None:
            slot = slots.by_interval(job.interval, moment)
            runs += _run_all(job, slot)
    names = [job.name for job in _in_queue(queue)]
    overdue = claims.overdue(moment - STALE / 2).filter(name__in=names)
    for pk in list(overdue.values_list("pk", flat=True)):
        if time_box.ending.is_set():
            break
        runs += run_requested(pk)
    return runs


def nightly(now: datetime | None = None) -> list[JobRun]:
    """Run the nightly chain in order, unless it ran for this night already.

    Called more often than nightly, so that a missed night is made up for. It ends
    where a job is not done yet, here or in another process: the next call goes on.
    A chain that takes longer than a day goes on too, before the next one begins.
    """
    schema_version.guard()
    chain = [job for job in registered() if job.night is not None]
    under_way = claims.night_under_way([job.name for job in chain])
    slot = under_way or slots.of_night(now or timezone.now())
    runs: list[JobRun] = []
    for job in chain:
        runs += _run_all(job, slot)
        open_runs = JobRun.objects.filter(name=job.name, ended_at=None)
        if time_box.ending.is_set() or open_runs.filter(slot__endswith=slot).exists():
            break
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
    fresh = notes.add(name, started_at, state, outcome.counts, outcome.fault[:400])
    if fresh is not None:
        _prune(fresh)


# ── On request ───────────────────────────────────────────────────────────────
def startable(name: str, *, by: Actor) -> Job:
    """Return a job that the actor may start now.

    Raises Conflict ``job_running`` when it is running already.
    """
    by.require("jobs.run")
    job = get(name)
    by.require(job.permission)
    workspace_id = None if job.house_wide else by.workspace_id
    runs = JobRun.objects.filter(name=name, workspace_id=workspace_id, ended_at=None)
    # One of which a part is done goes on, however long its turn is away.
    fresh = Q(heartbeat_at__gte=timezone.now() - STALE)
    if runs.filter(fresh | claims.IN_PARTS).exists():
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
        transaction.on_commit(lambda: send(run))
        return run
    run_requested(run.pk)
    run.refresh_from_db()
    return run


def send(run: JobRun) -> bool:
    """Tell the workers of its queue that a run waits; False when they cannot be."""
    return dispatch.send("memory.run_job", [run.pk], queue=get(run.name).runs_in)


def run_requested(run_id: int) -> list[JobRun]:
    """Do a run that waits, unless it is claimed, or long and has to wait its turn."""
    schema_version.guard()
    rows = JobRun.objects.filter(claims.OPEN, pk=run_id)
    long_names = [job.name for job in registered() if job.longest > LONG]
    edge = timezone.now() - STALE
    live = JobRun.objects.filter(
        name__in=long_names, state=RunState.RUNNING, heartbeat_at__gte=edge
    ).exclude(claimed_by=CUT)
    # One long run at a time: the scheduler needs a thread of the worker as well.
    free = rows.exclude(name__in=long_names) if live.exists() else rows
    if not claims.take(free):
        rows.update(heartbeat_at=timezone.now())
        return []
    run = JobRun.objects.get(pk=run_id)
    return [execute(get(run.name), run)]


def run_waiting(queue: str) -> list[JobRun]:
    """Do the runs of a queue that wait, a part of each in turn, until none is left."""
    names, runs = [job.name for job in _in_queue(queue)], list[JobRun]()
    rows = JobRun.objects.filter(claims.OPEN, name__in=names).order_by("heartbeat_at")
    while not time_box.ending.is_set() and (first := rows.first()):
        part = run_requested(first.pk)
        if not part:
            break
        runs += part
    return runs

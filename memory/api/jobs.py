"""Scheduled jobs over the API: every job with its last run, and running one now."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest
from ninja import Router, Schema, Status

from memory.jobs import registry as jobs
from memory.jobs import status as job_status
from memory.jobs.status import RunView
from memory.journal import append as journal

if TYPE_CHECKING:
    from memory.rules.permissions import Actor

router = Router(tags=["jobs"])


class ApiRequest(HttpRequest):
    """A request whose credential became an actor."""

    auth: Actor


class JobRunOut(Schema):
    """One run; ``state`` is waiting, running, done, partly or failed."""

    id: int
    state: str
    stuck: str | None
    started_at: str
    heartbeat_at: str
    ended_at: str | None
    seconds: float
    counts: dict[str, int]
    error: str | None
    asked_by: str | None


class JobOut(Schema):
    """A scheduled job with its last run, null before the first."""

    name: str
    title: str
    schedule: str
    house_wide: bool
    next_at: str | None
    last: JobRunOut | None


class JobsOut(Schema):
    """Every job, in the order of its schedule."""

    items: list[JobOut]
    next_cursor: str | None


def _stamp(moment: datetime | None) -> str | None:
    return journal.stamp(moment) if moment else None


def _run(report: RunView) -> dict[str, Any]:
    run = report.run
    return {
        "id": run.pk,
        "state": run.state,
        "stuck": report.stuck or None,
        "started_at": journal.stamp(run.started_at),
        "heartbeat_at": journal.stamp(run.heartbeat_at),
        "ended_at": _stamp(run.ended_at),
        "seconds": round(run.seconds, 3),
        "counts": report.counts,
        "error": report.fault or None,
        "asked_by": report.asked_by or None,
    }


@router.get("", response=JobsOut, operation_id="list_jobs")
def list_jobs(request: ApiRequest) -> dict[str, Any]:
    """List the scheduled jobs with their last runs; operators only."""
    overview = job_status.overview(request.auth)
    return {
        "items": [
            {
                "name": line.job.name,
                "title": line.job.title,
                "schedule": line.job.schedule,
                "house_wide": line.job.house_wide,
                "next_at": _stamp(line.next_at),
                "last": _run(line.last) if line.last else None,
            }
            for line in overview.lines
        ],
        "next_cursor": None,
    }


@router.post("/{job}/run", response={202: JobRunOut}, operation_id="run_job")
def run_job(request: ApiRequest, job: str) -> Status[dict[str, Any]]:
    """Start a job now; poll the list for its result."""
    run = jobs.run_now(job, by=request.auth)
    return Status(202, _run(job_status.run_view(request.auth, run)))

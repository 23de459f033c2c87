"""Scheduled jobs over the API: every job with its last run, and running one now."""

from __future__ import annotations

from typing import Any

from ninja import Router, Schema, Status
from pydantic import Field

from memory.api.request import ApiRequest
from memory.api.shapes import Stamp, TextOrNull
from memory.jobs import registry as jobs
from memory.jobs import status as job_status
from memory.jobs.status import RunView

router = Router(tags=["jobs"])


class JobRunOut(Schema):
    """One run; ``state`` is waiting, running, done, partly or failed."""

    id: int = Field(validation_alias="run.pk")
    state: str = Field(validation_alias="run.state")
    stuck: TextOrNull
    started_at: Stamp = Field(validation_alias="run.started_at")
    heartbeat_at: Stamp = Field(validation_alias="run.heartbeat_at")
    ended_at: Stamp | None = Field(validation_alias="run.ended_at")
    seconds: float
    counts: dict[str, int]
    error: TextOrNull = Field(validation_alias="fault")
    asked_by: TextOrNull

    @staticmethod
    def resolve_seconds(view: RunView) -> float:
        return round(view.run.seconds, 3)


class JobOut(Schema):
    """A scheduled job with its last run, null before the first."""

    name: str = Field(validation_alias="job.name")
    title: str = Field(validation_alias="job.title")
    schedule: str = Field(validation_alias="job.schedule")
    house_wide: bool = Field(validation_alias="job.house_wide")
    next_at: Stamp | None
    last: JobRunOut | None


class JobsOut(Schema):
    """Every job, in the order of its schedule."""

    items: list[JobOut]
    next_cursor: str | None


@router.get("", response=JobsOut, operation_id="list_jobs")
def list_jobs(request: ApiRequest) -> dict[str, Any]:
    """List the scheduled jobs with their last runs; operators only."""
    return {"items": job_status.overview(request.auth).lines, "next_cursor": None}


@router.post("/{job}/run", response={202: JobRunOut}, operation_id="run_job")
def run_job(request: ApiRequest, job: str) -> Status[RunView]:
    """Start a job now; poll the list for its result."""
    run = jobs.run_now(job, by=request.auth)
    return Status(202, job_status.run_view(request.auth, run))

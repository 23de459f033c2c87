"""Jobs of the worker: runs of cases, searches for new aliases, export bundles."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from celery import shared_task
from celery.signals import worker_init, worker_process_init

from gdpr import erasure
from gdpr.erasure import process_caches
from gdpr.export import make as export
from gdpr.subjects import backfill
from memory.jobs import registry as jobs
from memory.jobs.registry import ALL_WORKSPACES, Job, Outcome

EVERY_MINUTE: Final = timedelta(minutes=1)


def _cases(_workspace_id: str) -> Outcome:
    counts = erasure.sweep()
    fault = f"{counts['failed']} runs stopped at a fault" if counts["failed"] else ""
    return Outcome({"cases_run": counts["run"]}, fault)


JOBS: Final = (
    Job(
        name="gdpr_aliases",
        title="Personal data: new names",
        schedule="every minute",
        act=lambda _workspace_id: Outcome(backfill.sweep()),
        interval=EVERY_MINUTE,
        house_wide=True,
    ),
    Job(
        name="gdpr_cases",
        title="Personal data: cases",
        schedule="every 5 s",
        act=_cases,
        house_wide=True,
    ),
    Job(
        name="gdpr_exports",
        title="Personal data: bundles",
        schedule="every minute",
        act=lambda _workspace_id: Outcome(export.sweep()),
        interval=EVERY_MINUTE,
        house_wide=True,
    ),
)


def install() -> None:
    for job in JOBS:
        jobs.register(job)


@shared_task(name="gdpr.sweep", ignore_result=True)
def sweep() -> None:
    """Run the cases that wait; the job is recorded when there were any."""
    jobs.note("gdpr_cases", lambda: _cases(ALL_WORKSPACES))


@worker_init.connect
@worker_process_init.connect
def listen(**_: Any) -> None:
    """Listen in a worker, and in each child it forks, for requests to drop caches."""
    process_caches.listen()

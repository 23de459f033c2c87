"""Jobs of the worker: runs of cases, searches for new aliases, export bundles."""

from __future__ import annotations

from typing import Any

import structlog
from celery import shared_task
from celery.signals import beat_init, worker_init, worker_process_init

from gdpr import erasure
from gdpr.erasure import catch_up, process_caches, record_copies
from gdpr.export import make as export
from gdpr.intake import form
from gdpr.letters import retention as letters_retention
from gdpr.recipients import sending
from gdpr.retention import apply as retention
from gdpr.subjects import backfill
from memory.jobs import registry as jobs
from memory.jobs.queues import one_at_a_time
from memory.jobs.registry import ALL_WORKSPACES, Outcome

log = structlog.get_logger(__name__)


def run_cases(_workspace_id: str) -> Outcome:
    counts = erasure.sweep()
    fault = f"{counts['failed']} runs stopped at a fault" if counts["failed"] else ""
    return Outcome({"cases_run": counts["run"]}, fault)


def make_bundles(_workspace_id: str) -> Outcome:
    return Outcome(export.sweep())


def find_new_names(_workspace_id: str) -> Outcome:
    return Outcome(backfill.sweep())


def forget_requests(_workspace_id: str) -> Outcome:
    return Outcome({"deleted": form.forget_unconfirmed()})


def notify_recipients(_workspace_id: str) -> Outcome:
    counts = sending.sweep()
    failed = counts["failed"]
    fault = f"{failed} notices were given up" if failed else ""
    return Outcome(counts, fault)


def apply_retention(workspace_id: str) -> Outcome:
    erased = retention.run(workspace_id)
    return Outcome({"rules": len(erased), "erased": sum(erased.values())})


def erase_letters(workspace_id: str) -> Outcome:
    return Outcome(letters_retention.run(workspace_id))


def run_due() -> None:
    """Run the cases that wait; the job is recorded when there were any.

    Before them the erasures that a restored database lacks.
    """
    catch_up.sweep()
    jobs.note("gdpr_cases", lambda: run_cases(ALL_WORKSPACES))


@shared_task(name="gdpr.sweep", ignore_result=True)
@one_at_a_time("cases")
def sweep() -> None:
    """Run the cases that wait, beside the thread that looks for them."""
    run_due()


@worker_init.connect
def repeat_erasures(**_: Any) -> None:
    """Carry out again what a restored database lacks, before the first task."""
    catch_up.at_start(lambda line: log.warning("worker_start", step=line))


@worker_init.connect
@beat_init.connect
def keep_records(**_: Any) -> None:
    """Keep a copy of the records of erasures on the machine of a worker, or clock."""
    record_copies.keep()


@worker_init.connect
@worker_process_init.connect
def listen(**_: Any) -> None:
    """Listen in a worker, and in each child it forks, for requests to drop caches."""
    process_caches.listen()

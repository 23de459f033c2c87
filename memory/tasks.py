"""What the scheduled jobs of this package do; every one is safe to run twice.

``crewship_memory.jobs`` says when.
"""

from __future__ import annotations

import structlog
from celery import shared_task

from memory import journal_upload, records, webhooks, workspace_settings
from memory.files import reconcile, versions
from memory.installation import bodies
from memory.jobs import dispatch, housekeeping, time_box
from memory.jobs import registry as jobs
from memory.jobs.queues import one_at_a_time
from memory.jobs.registry import ALL_WORKSPACES, Outcome
from memory.journal import compaction
from memory.models import JobRun
from memory.word_index import storage
from memory.workspace_settings import declarations

log = structlog.get_logger(__name__)


def reconcile_files(_home: str) -> Outcome:
    """Reconcile the files on disk; in the database nobody edits them by hand."""
    if bodies.in_database():
        return Outcome({})
    report = reconcile.sweep()
    fault = f"{report.unsafe} unsafe paths were passed over" if report.unsafe else ""
    names = ("changed", "removed", "held", "unsafe")
    counts = {name: getattr(report, name) for name in names}
    if any(counts.values()):
        log.info("files_swept", **counts)
    return Outcome(counts, fault)


def prune_versions(workspace_id: str) -> Outcome:
    setting = declarations.VERSIONS_RETENTION_DAYS
    days = workspace_settings.value(workspace_id, setting)
    report = versions.prune(workspace_id, days=days)
    return Outcome({"versions_dropped": report.versions, "blobs_dropped": report.blobs})


def compact(workspace_id: str) -> Outcome:
    report = compaction.run(workspace_id)
    counts = {"archived": report.archived, "buckets": report.buckets}
    if not report.refused:
        return Outcome(counts)
    counts["buckets_refused"] = len(report.refused)
    return Outcome(counts, f"A fence held: {report.refused[0]}")


def delete_old_answers(_home: str) -> Outcome:
    return Outcome({"records_dropped": housekeeping.delete_old_idempotency_records()})


def forget_imports(_home: str) -> Outcome:
    return Outcome({"lines_dropped": journal_upload.forget_old()})


def retire_expired_records(_home: str) -> Outcome:
    return Outcome({"entries_retired": records.retire_expired()})


def merge_word_indexes(_home: str) -> Outcome:
    return Outcome(
        {
            "merge_steps": housekeeping.merge_word_indexes(),
            "entries_filled": storage.fill(time_box.is_over),
            "changes_dropped": storage.trim(),
        }
    )


def deliver_webhooks(_home: str) -> Outcome:
    report = webhooks.deliver_due()
    fault = f"{report.failed} deliveries were given up" if report.failed else ""
    counts = {
        "sent": report.sent_count,
        "retried": report.retried,
        "failed": report.failed,
    }
    return Outcome(counts, fault)


# ── Celery tasks ─────────────────────────────────────────────────────────────
@shared_task(name="memory.files_sweep", ignore_result=True)
@one_at_a_time("files")
def files_sweep() -> None:
    """Reconcile every memory file on disk, also those the watcher missed."""
    jobs.note("files_sweep", lambda: reconcile_files(ALL_WORKSPACES))


@shared_task(name="memory.tick", ignore_result=True)
@one_at_a_time("tick", by=lambda queue=None: queue or "")
def tick(queue: str | None = None) -> None:
    """Run the jobs of a queue, or of all, that are due by interval."""
    for run in jobs.tick(queue=queue):
        if run.ended_at is None:
            jobs.send(run)


@shared_task(name="memory.nightly", ignore_result=True)
@one_at_a_time("night")
def nightly() -> None:
    """Run the nightly chain, in order, once a night; a long one in parts."""
    runs = jobs.nightly()
    if any(run.ended_at is None for run in runs):
        dispatch.send("memory.nightly")


def _queue_of(run_id: int) -> str:
    run = JobRun.objects.filter(pk=run_id).only("name").first()
    return jobs.get(run.name).runs_in if run is not None else ""


@shared_task(name="memory.run_job", ignore_result=True)
@one_at_a_time("runs", by=_queue_of)
def run_job(run_id: int) -> None:
    """Do a run that waits, and the others of its queue, a part of each in turn."""
    if jobs.run_requested(run_id):
        jobs.run_waiting(_queue_of(run_id))

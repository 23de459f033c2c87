"""The clock's jobs on memory files: sweeps over what is there, safe to run twice."""

from __future__ import annotations

import structlog
from celery import shared_task

from memory.files import reconcile, retention

log = structlog.get_logger(__name__)


@shared_task(name="memory.files_sweep", ignore_result=True)
def files_sweep() -> None:
    """Look at every memory file on disk, whatever the watcher saw or missed."""
    report = reconcile.sweep()
    if report.changed or report.removed or report.held or report.unsafe:
        log.info(
            "files_swept",
            changed=report.changed,
            removed=report.removed,
            held=report.held,
            unsafe=report.unsafe,
        )


@shared_task(name="memory.retention", ignore_result=True)
def files_retention() -> None:
    """Drop versions that every workspace's own window has passed."""
    retention.run()

"""What processes remember: all of them forget before anything is searched for.

A matrix of vectors reads the log of changes before it answers anything, and wipes the
rows that went. Questions somebody asked, counts of words and the names to look out for
are dropped on the order of the run, which waits until everybody said so.
"""

from __future__ import annotations

from django.conf import settings
from django.core.cache import cache

from gdpr.cases import leases
from gdpr.erasure import process_caches
from gdpr.erasure.run_context import Run
from gdpr.models import CaseStep


def flush(run: Run, step: CaseStep) -> None:
    """Make every process forget; the step says how many did not in time."""
    leases.begin(step)
    if not settings.REDIS_URL:
        cache.clear()
    leases.finish(step, **_order_and_wait(run))


def flush_again(run: Run) -> None:
    """Once more, when the names are out of the tables: now nobody reads them again."""
    step = run.steps()["processes"]
    leases.progress(step, step.done, **_order_and_wait(run))


def _order_and_wait(run: Run) -> dict[str, int]:
    number = process_caches.order_flush(run.case.workspace_id)
    pending = process_caches.wait_for_all(number, run.check_lease)
    return {"processes": process_caches.live_processes(), "unconfirmed": pending}


def unconfirmed(step: CaseStep) -> list[str]:
    """Return what a certificate has to say of processes that kept silent."""
    count = step.counts.get("unconfirmed", 0)
    if not count:
        return []
    text = (
        f"That {count} of {step.counts.get('processes', count)} running processes"
        " dropped the texts of recent questions from memory: they did not say so in"
        " time. They do at a restart. Vectors are wiped before the next answer."
    )
    return [text]

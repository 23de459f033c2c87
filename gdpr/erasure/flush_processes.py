"""Flushing the caches of every process before the final search.

A vector matrix reads the change log before each answer and overwrites erased rows.
Cached queries, word counts and names are dropped on the run's order; the run waits
until every process has confirmed it.
"""

from __future__ import annotations

from django.conf import settings
from django.core.cache import cache

from gdpr.cases import leases
from gdpr.erasure import process_caches
from gdpr.erasure.run_context import Run
from gdpr.models import CaseStep


def flush(run: Run, step: CaseStep) -> None:
    """Order the flush; the step counts the processes that did not confirm in time."""
    leases.begin(step)
    if not settings.REDIS_URL:
        cache.clear()
    leases.finish(step, **_order_and_wait(run))


def flush_again(run: Run) -> None:
    """Flush again, after the names were erased from the tables."""
    step = run.steps()["processes"]
    leases.progress(step, step.done, **_order_and_wait(run))


def _order_and_wait(run: Run) -> dict[str, int]:
    number = process_caches.order_flush(run.case.workspace_id)
    pending = process_caches.wait_for_all(number, run.check_lease)
    return {"processes": process_caches.live_processes(), "unconfirmed": pending}


def unconfirmed(step: CaseStep) -> list[str]:
    """Return the certificate's sentence about processes that did not confirm."""
    count = step.counts.get("unconfirmed", 0)
    if not count:
        return []
    text = (
        f"That {count} of {step.counts.get('processes', count)} running processes"
        " dropped the texts of recent questions from memory: they did not say so in"
        " time. They do at a restart. Vectors are wiped before the next answer."
    )
    return [text]

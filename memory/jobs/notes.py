"""Runs that are only noted: those of a minute share one row and add up."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from memory.models import JobRun, RunState


def added(counts: Mapping[str, int], others: Mapping[str, int]) -> dict[str, int]:
    """Return two runs' counts as one."""
    names = dict.fromkeys([*counts, *others])
    return {name: counts.get(name, 0) + others.get(name, 0) for name in names}


def add(
    name: str,
    started_at: datetime,
    state: RunState,
    counts: Mapping[str, int],
    fault: str,
) -> JobRun | None:
    """Add a run to its minute's row; return the row when it is new."""
    now = timezone.now()
    slot = f"house {started_at:%Y-%m-%dT%H:%M} {state}"
    with transaction.atomic():
        run, fresh = JobRun.objects.select_for_update().get_or_create(
            name=name, slot=slot, defaults={"state": state, "started_at": started_at}
        )
        before = timedelta() if fresh else timedelta(seconds=run.seconds)
        run.started_at, run.ended_at, run.heartbeat_at = started_at - before, now, now
        run.counts, run.error = added(run.counts, counts), fault
        run.save()
    return run if fresh else None

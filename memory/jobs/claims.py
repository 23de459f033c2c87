"""Claiming runs of jobs: by a row that only one inserts, or a conditional UPDATE."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

from django.db import IntegrityError, transaction
from django.db.models import Case, F, Q, QuerySet, Value, When
from django.utils import timezone

from memory.jobs import slots
from memory.models import JobRun, RunState

# Who has a run of which a part is done and the next one waits: nobody.
CUT: Final = "cut"
IN_PARTS: Final = Q(state=RunState.RUNNING, claimed_by=CUT)
# Runs take turns, a minute each: one that waits so long is forgotten.
TURN: Final = timedelta(minutes=15)
OPEN: Final = Q(state=RunState.WAITING) | IN_PARTS


def _worker_id() -> str:
    return f"{socket.gethostname()[:60]}:{os.getpid()}:{secrets.token_hex(4)}"


def overdue(before: datetime) -> QuerySet[JobRun]:
    """Return the runs that nobody took for long: their message was lost."""
    waits = Q(state=RunState.WAITING, started_at__lt=before)
    return JobRun.objects.filter(waits | Q(IN_PARTS, heartbeat_at__lt=before))


def silent(now: datetime, stale: timedelta) -> QuerySet[JobRun]:
    """Return the runs whose process is dead, or whose next part nobody takes."""
    rows = JobRun.objects.filter(state=RunState.RUNNING)
    is_cut = Q(claimed_by=CUT)
    dead = ~is_cut & Q(heartbeat_at__lt=now - stale)
    return rows.filter(dead | Q(is_cut, heartbeat_at__lt=now - TURN))


def night_under_way(names: Collection[str]) -> str | None:
    """Return the first night of which a named job has not ended, None without one."""
    rows = JobRun.objects.filter(name__in=names, ended_at=None)
    nights = rows.filter(slot__contains=f" {slots.NIGHT_OF} ").order_by("pk")
    slot = nights.values_list("slot", flat=True).first()
    return slot.partition(" ")[2] if slot else None


def take(rows: QuerySet[JobRun]) -> bool:
    """Take the one run that the rows are; of two processes only one succeeds.

    A run of which a part is done began when it began.
    """
    now = timezone.now()
    start = Case(When(IN_PARTS, then=F("started_at")), default=Value(now))
    fields = {"claimed_by": _worker_id(), "started_at": start, "heartbeat_at": now}
    return bool(rows.update(state=RunState.RUNNING, **fields))


def claim(name: str, workspace_id: str, slot: str, stale: timedelta) -> JobRun | None:
    """Claim a slot of a job; None when another process has or had it."""
    key = {"name": name, "slot": f"{workspace_id or 'house'} {slot}"}
    rows = JobRun.objects.filter(**key)
    if rows.exists():
        dead = Q(state=RunState.RUNNING, heartbeat_at__lt=timezone.now() - stale)
        return rows.get() if take(rows.filter(dead | IN_PARTS)) else None
    try:
        with transaction.atomic():
            return JobRun.objects.create(
                **key, workspace_id=workspace_id or None, claimed_by=_worker_id()
            )
    except IntegrityError:
        return None

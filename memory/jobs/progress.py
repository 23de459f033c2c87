"""How far the run of a job is, as the work itself reports it.

The work calls ``report`` and ``add_item``; outside a run both do nothing, so that a
service needs not know whether a job, a command or a test called it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

from django.conf import settings
from django.utils import timezone, translation

from memory.models import JobRun
from memory.rules import permissions
from memory.rules.permissions import Actor, Role

# The row is written no more often than this: on SQLite appends wait meanwhile.
WRITE_SECONDS: Final = 0.5
MAX_ITEMS: Final = 200
WHY_LENGTH: Final = 300
# The key among a run's params of where it goes on.
POSITION: Final = "position"


@dataclass(frozen=True, slots=True)
class ResultLine:
    """Something a run made or did not do: its name, its address, and why."""

    text: str
    why: str = ""
    url: str = ""


def plain_lines(_workspace_id: str, items: list[dict[str, str]]) -> list[ResultLine]:
    """Return what a run named by its ids alone."""
    return [ResultLine(item["id"], item["why"]) for item in items]


@dataclass(slots=True)
class Progress:
    """The progress of one run, and when it was last written."""

    run: JobRun
    done: int = 0
    total: int | None = None
    unit: str = ""
    items: list[dict[str, str]] = field(default_factory=list)
    written_at: float = 0.0

    def write(self) -> None:
        """Write the progress, unless another process has taken the run over."""
        self.written_at = time.monotonic()
        rows = JobRun.objects.filter(pk=self.run.pk, claimed_by=self.run.claimed_by)
        rows.update(
            done=self.done,
            total=self.total,
            unit=self.unit,
            items=self.items,
            heartbeat_at=timezone.now(),
        )


_current: ContextVar[Progress | None] = ContextVar("job_progress", default=None)


@contextmanager
def of_run(run: JobRun) -> Iterator[None]:
    """Let the work inside report to a run; what it reported last is written.

    What the work leaves behind is in English, whatever language its request is in.
    """
    progress = Progress(run, items=list(run.items))
    token = _current.set(progress)
    try:
        # A run may be in the request of a page, and what it stores is English.
        with translation.override(settings.LANGUAGE_CODE):
            yield
    finally:
        _current.reset(token)
        if progress.written_at or progress.items != run.items:
            progress.write()


def report(done: int, total: int, unit: str) -> None:
    """Say how much is done; ``unit`` is the plural noun of what is counted."""
    progress = _current.get()
    if progress is None:
        return
    progress.done, progress.total, progress.unit = done, total, unit
    if time.monotonic() - progress.written_at >= WRITE_SECONDS:
        progress.write()


def advance(count: int) -> None:
    """Say that so much more is done, of what was reported before."""
    progress = _current.get()
    if progress is not None and progress.total is not None:
        done = progress.done + count
        report(done, max(done, progress.total), progress.unit)


def add_item(kind: str, item_id: str, why: str = "") -> None:
    """Name something that the run made, or did not do, and why; never its words."""
    progress = _current.get()
    if progress is not None and len(progress.items) < MAX_ITEMS:
        why = why[:WHY_LENGTH].replace("\0", "")
        progress.items.append({"kind": kind, "id": item_id, "why": why})


def params() -> dict[str, str]:
    """Return what the run was asked for; empty for one by schedule."""
    progress = _current.get()
    return dict(progress.run.params) if progress is not None else {}


def position() -> str:
    """Return where an earlier part of this run stopped; "" at its beginning."""
    return params().get(POSITION, "")


def keep_position(text: str) -> None:
    """Note where the next part of this run goes on."""
    progress = _current.get()
    if progress is None:
        return
    run = progress.run
    run.params = {**run.params, POSITION: text}
    rows = JobRun.objects.filter(pk=run.pk, claimed_by=run.claimed_by)
    rows.update(params=run.params)


def requester(workspace_id: str, name: str) -> Actor:
    """Return the person who asked for the run, else the system under a name."""
    progress = _current.get()
    if progress is None or not progress.run.params.get("by_id"):
        return permissions.system(workspace_id, name)
    return Actor(
        role=Role(progress.run.params["by_role"]),
        workspace_id=workspace_id,
        id=progress.run.params["by_id"],
        label=progress.run.asked_by,
    )

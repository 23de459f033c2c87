"""The runs of scheduled jobs, and the processes that do them."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from memory.models.tenancy import Workspace


class RunState(models.TextChoices):
    """The state of a run; ``partly`` means that some work is left."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    PARTLY = "partly"
    FAILED = "failed"


class JobRun(models.Model):
    """One run of a job. The process that inserts the (name, slot) pair runs it.

    ``workspace`` is null for jobs of the whole installation. ``heartbeat_at`` is the
    last sign of life of the process that runs it. ``params`` is what a person asked
    for, ``items`` names what came of it by ids; ``total`` is null while it is unknown.
    """

    id = models.BigAutoField(primary_key=True)
    name = models.CharField(max_length=60)
    slot = models.CharField(max_length=100)
    workspace = models.ForeignKey(
        Workspace, models.CASCADE, null=True, related_name="job_runs"
    )
    state = models.CharField(
        max_length=8, choices=RunState.choices, default=RunState.RUNNING
    )
    started_at = models.DateTimeField(default=timezone.now)
    heartbeat_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)
    counts = models.JSONField(default=dict, blank=True)
    error = models.CharField(max_length=400, blank=True)
    asked_by = models.CharField(max_length=254, blank=True)
    claimed_by = models.CharField(max_length=120, blank=True)
    params = models.JSONField(default=dict, blank=True)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(null=True, blank=True)
    unit = models.CharField(max_length=20, blank=True)
    items = models.JSONField(default=list, blank=True)

    class Meta:
        db_table = "job_runs"
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(fields=["name", "slot"], name="job_slot_once"),
        )
        indexes = (
            models.Index(fields=["name", "workspace", "-id"], name="job_history"),
        )

    def __str__(self) -> str:
        return f"{self.name} {self.slot} {self.state}"

    @property
    def seconds(self) -> float:
        """The duration so far, or until the end."""
        return ((self.ended_at or timezone.now()) - self.started_at).total_seconds()


class WorkerProcess(models.Model):
    """A process that takes tasks from queues, or the clock that puts them there.

    ``host`` is a digest of the machine's name. ``seen_at`` is the database's time, so
    that the machines' clocks need not agree.
    """

    name = models.CharField(primary_key=True, max_length=60)
    host = models.CharField(max_length=16)
    queues = models.JSONField(default=list)
    is_clock = models.BooleanField(default=False)
    seen_at = models.DateTimeField()

    class Meta:
        db_table = "worker_processes"

    def __str__(self) -> str:
        return f"{self.name} takes {', '.join(self.queues) or 'nothing'}"

"""The table of memory health: one snapshot per workspace, crew and day."""

from __future__ import annotations

from django.db import models

from memory.models import Workspace, ids


def snapshot_id() -> str:
    return ids.make("hs")


def acceptance_id() -> str:
    return ids.make("hac")


class HealthSnapshot(models.Model):
    """The metrics of one day; a later measurement of the day replaces them.

    ``crew_id`` is empty for the whole workspace: NULL would make two rows of one day
    distinct. A metric without data is NULL, never zero.
    """

    id = models.CharField(primary_key=True, max_length=32, default=snapshot_id)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    crew_id = models.CharField(max_length=128, default="", blank=True)
    date = models.DateField()
    computed_at = models.DateTimeField()
    freshness = models.FloatField(null=True)
    coverage = models.FloatField(null=True)
    coherence = models.FloatField(null=True)
    efficiency = models.FloatField(null=True)
    reachability = models.FloatField(null=True)
    score = models.FloatField(null=True)
    details = models.JSONField(default=dict)

    class Meta:
        db_table = "memory_health_snapshots"
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "crew_id", "date"], name="health_once_a_day"
            ),
        )

    def __str__(self) -> str:
        return f"{self.crew_id or self.workspace_id} {self.date} {self.score}"


class AcceptedCause(models.Model):
    """A cause of low health that a person accepts with a reason until a day.

    ``key`` names the cause within its metric; ``crew_id`` is empty for the workspace.
    """

    id = models.CharField(primary_key=True, max_length=32, default=acceptance_id)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    crew_id = models.CharField(max_length=128, default="", blank=True)
    metric = models.CharField(max_length=40)
    key = models.CharField(max_length=300)
    reason = models.CharField(max_length=500)
    accepted_by = models.CharField(max_length=254)
    accepted_at = models.DateTimeField()
    until = models.DateTimeField()

    class Meta:
        db_table = "memory_health_accepted"
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "crew_id", "metric", "key"],
                name="health_cause_accepted_once",
            ),
        )

    def __str__(self) -> str:
        return f"{self.metric} {self.key} until {self.until}"

"""The tables of nudges given and of recall checks."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from memory.models import Agent, Workspace, ids


def check_id() -> str:
    """Return a new recall check id."""
    return ids.make("rc")


class NudgeSent(models.Model):
    """A nudge that an agent got in a session; the session is kept as a digest only."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    agent = models.ForeignKey(Agent, models.CASCADE, db_index=False)
    session_digest = models.CharField(max_length=64)
    kind = models.CharField(max_length=20)
    sent_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "nudges_sent"
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "agent", "session_digest", "kind"],
                name="nudge_once_a_session",
            ),
        )
        indexes = (models.Index(fields=["sent_at"], name="nudge_age"),)

    def __str__(self) -> str:
        return f"{self.kind} to {self.agent_id}"


class RecallCheck(models.Model):
    """A question and the entries that its answer has to hold.

    ``question`` has the fields of POST /episodic/recall that were set.
    """

    class Result(models.TextChoices):
        """What the last run found; new until there was one."""

        NEW = "new"
        HOLDS = "holds"
        BROKEN = "broken"
        REFUSED = "refused"

    id = models.CharField(primary_key=True, max_length=32, default=check_id)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    name = models.CharField(max_length=120)
    question = models.JSONField()
    expected = models.JSONField()
    created_by = models.CharField(max_length=254)
    created_at = models.DateTimeField(default=timezone.now)
    result = models.CharField(max_length=8, choices=Result.choices, default=Result.NEW)
    last_run_at = models.DateTimeField(null=True)
    model = models.CharField(max_length=120, blank=True)

    class Meta:
        db_table = "recall_checks"
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "name"], name="recall_check_named_once"
            ),
        )

    def __str__(self) -> str:
        return f"{self.name} {self.result}"


class RecallCheckRun(models.Model):
    """One run of a check: which expected entries were missing, and why."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(
        Workspace, models.CASCADE, related_name="+", db_index=False
    )
    recall_check = models.ForeignKey(
        RecallCheck, models.CASCADE, related_name="runs", db_index=False
    )
    ran_at = models.DateTimeField(default=timezone.now)
    result = models.CharField(max_length=8, choices=RecallCheck.Result.choices)
    returned = models.PositiveSmallIntegerField(default=0)
    missing = models.JSONField(default=list)
    model = models.CharField(max_length=120, blank=True)
    note = models.CharField(max_length=300, blank=True)

    class Meta:
        db_table = "recall_check_runs"
        ordering = ("-id",)
        indexes = (models.Index(fields=["recall_check", "-id"], name="check_runs"),)

    def __str__(self) -> str:
        return f"{self.recall_check_id} {self.result}"

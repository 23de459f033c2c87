"""The tables of the recall log: questions that agents asked, and what they got."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from memory.models import Workspace


class LoggedQuestion(models.Model):
    """One question of an agent, or of a program with an operator's key.

    ``question_key`` is the same for questions that differ in case, accents and
    punctuation only. ``agent_id`` and ``crew_id`` are whose memory was asked, without
    references to their tables: the log outlives an agent. ``asked_by`` names a program
    that asked, "" where the agent did.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    asked_at = models.DateTimeField(default=timezone.now)
    question = models.TextField()
    question_key = models.CharField(max_length=64)
    agent_id = models.CharField(max_length=128, null=True)  # noqa: DJ001
    crew_id = models.CharField(max_length=128, null=True)  # noqa: DJ001
    asked_by = models.CharField(max_length=254, blank=True)
    scope = models.CharField(max_length=16)
    mode = models.CharField(max_length=8)
    fusion = models.CharField(max_length=16)
    k = models.PositiveSmallIntegerField()
    unanswered = models.BooleanField(default=False)
    latency_ms = models.FloatField(default=0.0)
    degraded = models.CharField(max_length=200, blank=True)
    model = models.CharField(max_length=120, blank=True)

    class Meta:
        db_table = "recall_log"
        indexes = (
            models.Index(
                fields=["workspace", "-asked_at", "-id"], name="recall_log_newest"
            ),
            models.Index(
                fields=["workspace", "question_key"],
                name="recall_log_unanswered",
                condition=models.Q(unanswered=True),
            ),
        )

    def __str__(self) -> str:
        return f"{self.id} of {self.agent_id or self.asked_by}"


class LoggedHit(models.Model):
    """One entry that a logged question returned, best first from rank 1.

    ``entry_id`` is no reference: an entry may be archived while the question stays. An
    erased entry leaves no row here.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    question = models.ForeignKey(
        LoggedQuestion, models.CASCADE, related_name="hits", db_index=False
    )
    rank = models.PositiveSmallIntegerField()
    entry_id = models.CharField(max_length=32)
    score = models.FloatField()
    cosine = models.FloatField(null=True)
    via = models.CharField(max_length=12)

    class Meta:
        db_table = "recall_log_hits"
        constraints = (
            models.UniqueConstraint(
                fields=["question", "rank"], name="recall_log_hit_ranked_once"
            ),
        )
        indexes = (
            models.Index(fields=["workspace", "entry_id"], name="recall_log_hit_of"),
        )

    def __str__(self) -> str:
        return f"{self.rank}. {self.entry_id} of {self.question_id}"

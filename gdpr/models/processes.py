"""The tables by which processes tell each other to forget."""

from __future__ import annotations

from django.db import models
from django.utils import timezone


class ForgetOrder(models.Model):
    """Something of a workspace was erased: whatever is kept in memory of it goes.

    The numbers only grow; a process obeys everything after the last one it obeyed.
    """

    id = models.BigAutoField(primary_key=True)
    workspace_id = models.CharField(max_length=32)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "gdpr_forget_orders"

    def __str__(self) -> str:
        return f"{self.pk} in {self.workspace_id}"


class LiveProcess(models.Model):
    """A process that answers questions, and the last order it obeyed.

    ``seen_at`` is the database's own time, so that clocks need not agree.
    """

    name = models.CharField(primary_key=True, max_length=40)
    seen_at = models.DateTimeField()
    obeyed = models.BigIntegerField(default=0)

    class Meta:
        db_table = "gdpr_live_processes"

    def __str__(self) -> str:
        return f"{self.name} obeyed {self.obeyed}"

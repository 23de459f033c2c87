"""The tables by which all processes are ordered to flush their caches."""

from __future__ import annotations

from django.db import models
from django.utils import timezone


class ForgetOrder(models.Model):
    """An order to every process to drop what it caches of a workspace.

    Ids only grow; a process carries out every order after the last one it obeyed.
    """

    id = models.BigAutoField(primary_key=True)
    workspace_id = models.CharField(max_length=32)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "gdpr_forget_orders"

    def __str__(self) -> str:
        return f"{self.pk} in {self.workspace_id}"


class LiveProcess(models.Model):
    """A running process with caches, and the last order it obeyed.

    ``seen_at`` is the database's time, so that the machines' clocks need not agree.
    """

    name = models.CharField(primary_key=True, max_length=40)
    seen_at = models.DateTimeField()
    obeyed = models.BigIntegerField(default=0)

    class Meta:
        db_table = "gdpr_live_processes"

    def __str__(self) -> str:
        return f"{self.name} obeyed {self.obeyed}"

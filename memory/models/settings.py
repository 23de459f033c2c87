"""The changed settings of a workspace, one row a setting."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from memory.models.tenancy import Workspace


class WorkspaceSetting(models.Model):
    """A changed setting; without a row the default holds.

    ``is_set`` is false after a return to the default. A secret is in ``sealed``, never
    in ``value``. ``version`` counts the changes.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(
        Workspace, models.CASCADE, db_index=False, related_name="setting_rows"
    )
    name = models.CharField(max_length=64)
    is_set = models.BooleanField(default=True)
    value = models.JSONField(null=True, blank=True)
    sealed = models.TextField(blank=True)
    version = models.PositiveIntegerField(default=0)
    changed_at = models.DateTimeField(default=timezone.now)
    changed_by = models.CharField(max_length=254)

    class Meta:
        db_table = "workspace_settings"
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "name"], name="workspace_setting_once"
            ),
        )

    def __str__(self) -> str:
        return f"{self.name} of {self.workspace_id}"

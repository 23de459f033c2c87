"""Personal data of members: their saved views, and when they were last here."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from memory.models.tenancy import User, Workspace


class ViewPage(models.TextChoices):
    """The pages whose lists have saved views."""

    QUARANTINE = "quarantine"
    JOURNAL = "journal"
    RECORDS = "records"
    AGENTS = "agents"


class SavedView(models.Model):
    """The filters of a page's list under a name, visible to its owner only."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="saved_views")
    page = models.CharField(max_length=20, choices=ViewPage.choices)
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=500, blank=True)
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "saved_views"
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "user", "page", "name"], name="saved_view_once"
            ),
        )

    def __str__(self) -> str:
        return self.name


class LastVisit(models.Model):
    """When a member last opened the first page, and when the visit before ended.

    ``since`` is empty during the first visit.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="visits")
    seen_at = models.DateTimeField(default=timezone.now)
    since = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "last_visits"
        constraints = (
            models.UniqueConstraint(fields=["workspace", "user"], name="visit_once"),
        )

    def __str__(self) -> str:
        return f"{self.user_id} in {self.workspace_id}"

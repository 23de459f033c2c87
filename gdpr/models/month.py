"""Tables of an officer's month: purposes of processing, addresses of calendars."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from memory.models import User, Workspace


class ProcessingPurpose(models.Model):
    """What a workspace says of one place of the data map: why, and on what ground.

    A place without a row has the text that the program proposes. Saving a row, also
    with the proposed words, confirms it.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    place = models.CharField(max_length=24)
    purpose = models.TextField()
    legal_basis = models.TextField()
    confirmed_by = models.CharField(max_length=254)
    confirmed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "gdpr_processing_purposes"
        ordering = ("place",)
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "place"], name="purpose_once_per_place"
            ),
        )

    def __str__(self) -> str:
        return f"{self.workspace_id} {self.place}"


class CalendarFeed(models.Model):
    """The private address of a person's calendar of deadlines: a digest of its token.

    It gives what the person may see at the moment it is read; without the role it
    gives nothing.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="calendar_feeds")
    token_hash = models.CharField(max_length=64, unique=True)
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "gdpr_calendar_feeds"
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "user"], name="calendar_once_per_person"
            ),
        )

    def __str__(self) -> str:
        return f"{self.workspace_id} {self.user_id}"

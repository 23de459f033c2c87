"""Rules of retention: which texts are erased at which age."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from memory.models import Workspace, ids


def _rule_id() -> str:
    return ids.make("ret")


class RetentionPlace(models.TextChoices):
    """Where a rule applies."""

    JOURNAL = "journal", gettext_lazy("Journal entries")
    RECORDS = "records", gettext_lazy("Records")


class RetentionRule(models.Model):
    """Texts of one kind are erased after so many days.

    ``kind`` is an entry type or the kind of a record; ``network.*`` stands for every
    kind that begins so, ``*`` for every one. ``erased`` and ``kept`` are the counts of
    the last run.
    """

    id = models.CharField(primary_key=True, max_length=32, default=_rule_id)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    place = models.CharField(max_length=8, choices=RetentionPlace.choices)
    kind = models.CharField(max_length=80)
    days = models.PositiveIntegerField()
    reason = models.TextField()
    active = models.BooleanField(default=False)
    changed_by = models.CharField(max_length=254)
    changed_at = models.DateTimeField(default=timezone.now)
    last_run_at = models.DateTimeField(null=True, blank=True)
    erased = models.PositiveIntegerField(default=0)
    kept = models.PositiveIntegerField(default=0)
    # Erased and not in the journal yet: a killed run leaves some for the next one.
    unreported = models.PositiveIntegerField(default=0)

    class Meta:
        db_table = "gdpr_retention_rules"
        ordering = ("place", "kind")
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "place", "kind"], name="retention_rule_once"
            ),
            models.CheckConstraint(
                condition=Q(days__gte=1), name="retention_days_positive"
            ),
        )

    def __str__(self) -> str:
        return f"{self.place} {self.kind} {self.days}"

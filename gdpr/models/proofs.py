"""The tables of proof: audit log, certificates and their keys, exports."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy, pgettext_lazy

from gdpr.models.cases import Case
from memory.models import Workspace, ids


def _action_id() -> str:
    return ids.make("ga")


def _certificate_id() -> str:
    return ids.make("cert")


def _export_id() -> str:
    return ids.make("exp")


class ActionKind(models.TextChoices):
    """What was done with a person's data, or with what protects it."""

    EXPORT = "export", gettext_lazy("Export")
    DELETE = "delete", gettext_lazy("Erasure")
    RECTIFY = "rectify", gettext_lazy("Rectification")
    RESTRICT = "restrict", gettext_lazy("Restriction")
    LIFT = "lift", gettext_lazy("Restriction lifted")
    VIEW = "view", pgettext_lazy("act", "View")
    DECIDE = "decide", gettext_lazy("Rows decided")
    SETTINGS = "settings", gettext_lazy("Safeguard switched off")
    ANSWER = "answer", gettext_lazy("Letter sent")
    NOTIFY = "notify", gettext_lazy("Recipient notified")


class ActionStatus(models.TextChoices):
    """The state of an action."""

    IN_PROGRESS = "in_progress", pgettext_lazy("act", "In progress")
    COMPLETED = "completed", pgettext_lazy("act", "Completed")
    PARTIAL = "partial", pgettext_lazy("act", "Partial")
    FAILED = "failed", pgettext_lazy("act", "Failed")


class GdprAction(models.Model):
    """The audit log: one row per action, written before anything is erased.

    Subject and actor are plain ids without foreign keys: the row outlives both. It
    holds no name and no text of a person.
    """

    id = models.CharField(primary_key=True, max_length=40, default=_action_id)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    subject_ref = models.CharField(max_length=32)
    case_ref = models.CharField(max_length=32, blank=True)
    actor_id = models.CharField(max_length=128)
    actor_label = models.CharField(max_length=254, blank=True)
    action = models.CharField(max_length=8, choices=ActionKind.choices)
    status = models.CharField(
        max_length=11, choices=ActionStatus.choices, default=ActionStatus.IN_PROGRESS
    )
    scope = models.JSONField(default=dict, blank=True)
    reason = models.TextField(blank=True)
    error = models.CharField(max_length=400, blank=True)
    initiated_at = models.DateTimeField(default=timezone.now)
    completed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "gdpr_actions"
        ordering = ("-initiated_at", "-id")
        constraints = (
            models.CheckConstraint(
                condition=Q(action__in=ActionKind.values), name="action_known"
            ),
            models.CheckConstraint(
                condition=Q(status__in=ActionStatus.values), name="action_status_known"
            ),
            models.CheckConstraint(
                condition=~Q(action="delete") | ~Q(reason=""),
                name="action_delete_has_reason",
            ),
        )
        indexes = (
            models.Index(fields=["workspace", "subject_ref"], name="action_of"),
            models.Index(fields=["workspace", "-initiated_at"], name="action_newest"),
        )

    def __str__(self) -> str:
        return f"{self.id} {self.action} {self.status}"


class SigningKey(models.Model):
    """The public half of a key that signs certificates; the other is in a file."""

    key_id = models.CharField(primary_key=True, max_length=40)
    public_key = models.CharField(max_length=64)
    made_at = models.DateTimeField(default=timezone.now)
    retired_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "gdpr_signing_keys"
        ordering = ("-made_at",)

    def __str__(self) -> str:
        return self.key_id


class Certificate(models.Model):
    """A signed certificate of a run; ``document`` is the signed JSON, as text."""

    id = models.CharField(primary_key=True, max_length=32, default=_certificate_id)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    case = models.ForeignKey(Case, models.PROTECT, related_name="certificates")
    run = models.PositiveSmallIntegerField()
    result = models.CharField(max_length=10)
    document = models.TextField()
    key_id = models.CharField(max_length=40)
    replaces = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="replaced_by"
    )
    issued_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "gdpr_certificates"
        ordering = ("-issued_at", "-id")
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "case", "run"], name="certificate_once"
            ),
        )

    def __str__(self) -> str:
        return self.id


class ExportState(models.TextChoices):
    MAKING = "making", pgettext_lazy("export", "Being made")
    REVIEW = "review", pgettext_lazy("export", "Waiting for a decision")
    READY = "ready", pgettext_lazy("export", "Ready")
    FAILED = "failed", pgettext_lazy("export", "Failed")
    GONE = "gone", pgettext_lazy("export", "Gone")


class Export(models.Model):
    """A bundle made for a person: encrypted at rest, deleted at ``expires_at``."""

    id = models.CharField(primary_key=True, max_length=32, default=_export_id)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    case = models.ForeignKey(
        Case, models.SET_NULL, null=True, blank=True, related_name="exports"
    )
    subject_ref = models.CharField(max_length=32)
    state = models.CharField(
        max_length=7, choices=ExportState.choices, default=ExportState.MAKING
    )
    sha256 = models.CharField(max_length=64, blank=True)
    bytes = models.PositiveBigIntegerField(default=0)
    counts = models.JSONField(default=dict, blank=True)
    error = models.CharField(max_length=400, blank=True)
    made_at = models.DateTimeField(default=timezone.now)
    made_by = models.CharField(max_length=254)
    expires_at = models.DateTimeField()
    claimed_by = models.CharField(max_length=120, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    last_read_at = models.DateTimeField(null=True, blank=True)
    last_read_by = models.CharField(max_length=254, blank=True)

    class Meta:
        db_table = "gdpr_exports"
        ordering = ("-made_at", "id")
        indexes = (models.Index(fields=["workspace", "subject_ref"], name="export_of"),)

    def __str__(self) -> str:
        return f"{self.id} {self.state}"

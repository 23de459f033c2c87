"""The tables of records, and of the status of a workspace's providers."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from memory.models import ids
from memory.models.files import HeldFile
from memory.models.journal import JournalEntry
from memory.models.tenancy import Agent, Crew, Workspace


def _record_id() -> str:
    return ids.make("rec")


class RecordStatus(models.TextChoices):
    CURRENT = "current"
    SUPERSEDED = "superseded"
    FORGOTTEN = "forgotten"


class Record(models.Model):
    """One remembered statement: a chain of journal entries with a current version.

    The entries say what was recorded, revised and forgotten, and by whom; this row says
    what is current. ``owner_*`` is whose record it is; the four scope strings are the
    caller's own division. A forgotten record keeps its row and none of its words.
    """

    id = models.CharField(primary_key=True, max_length=32, default=_record_id)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    crew = models.ForeignKey(Crew, models.CASCADE, null=True, related_name="records")
    agent = models.ForeignKey(
        Agent, models.CASCADE, null=True, blank=True, related_name="records"
    )
    scope_user = models.CharField(max_length=256, blank=True)
    scope_agent = models.CharField(max_length=256, blank=True)
    scope_namespace = models.CharField(max_length=256, blank=True)
    scope_thread = models.CharField(max_length=256, blank=True)
    # The other keys of the caller's scope map, and a digest of the whole map.
    scope_extra = models.JSONField(null=True, blank=True)
    scope_key = models.CharField(max_length=32, null=True, blank=True)  # noqa: DJ001
    kind = models.CharField(max_length=40)
    content = models.TextField(blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    confidence = models.FloatField(default=1.0)
    # The interface that accepted it; set by the interface, never by the caller.
    provenance = models.CharField(max_length=24)
    session_id = models.CharField(max_length=256, blank=True)
    turn_range = models.JSONField(null=True, blank=True)
    external_id = models.CharField(max_length=200, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    current_entry = models.ForeignKey(
        JournalEntry, models.SET_NULL, null=True, related_name="+", db_index=False
    )
    version = models.PositiveIntegerField(default=1)
    status = models.CharField(
        max_length=10, choices=RecordStatus.choices, default=RecordStatus.CURRENT
    )
    superseded_by = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="sources"
    )
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "records"
        ordering = ("-updated_at", "id")
        constraints = (
            models.CheckConstraint(
                condition=models.Q(confidence__gte=0, confidence__lte=1),
                name="record_confidence_in_unit",
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=RecordStatus.values),
                name="record_status_known",
            ),
            models.UniqueConstraint(
                fields=["workspace", "crew", "agent", "scope_key", "external_id"],
                condition=~models.Q(external_id="")
                & models.Q(status="current", agent__isnull=False),
                name="record_external_once",
            ),
            models.UniqueConstraint(
                fields=["workspace", "crew", "scope_key", "external_id"],
                condition=~models.Q(external_id="")
                & models.Q(status="current", agent__isnull=True),
                name="record_crew_external_once",
            ),
            models.UniqueConstraint(
                fields=["workspace", "scope_key", "external_id"],
                condition=~models.Q(external_id="")
                & models.Q(status="current", crew__isnull=True),
                name="record_workspace_external_once",
            ),
        )
        indexes = (
            models.Index(
                fields=["workspace", "status", "-updated_at"], name="record_status"
            ),
            models.Index(
                fields=["workspace", "scope_key", "status", "-updated_at"],
                name="record_scope",
            ),
            models.Index(
                fields=["workspace", "scope_user", "status"], name="record_user"
            ),
            models.Index(fields=["workspace", "agent", "status"], name="record_agent"),
            models.Index(fields=["workspace", "current_entry"], name="record_entry"),
        )

    def __str__(self) -> str:
        return f"{self.id} {self.status}"


class RecordEvent(models.TextChoices):
    """The operation of a link of a record's chain."""

    CREATED = "created"
    UPDATED = "updated"
    SUPERSEDED = "superseded"
    INVALIDATED = "invalidated"


class RecordEntry(models.Model):
    """One link of a record's chain: an entry about it, and when it was current."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    record = models.ForeignKey(Record, models.CASCADE, related_name="links")
    entry = models.OneToOneField(
        JournalEntry, models.CASCADE, related_name="record_link"
    )
    version = models.PositiveIntegerField()
    event = models.CharField(  # noqa: DJ001
        max_length=12, choices=RecordEvent.choices, null=True
    )
    valid_from = models.DateTimeField(null=True)
    valid_to = models.DateTimeField(null=True)

    class Meta:
        db_table = "record_entries"
        ordering = ("record", "version")
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "record", "version"], name="record_version_once"
            ),
        )

    def __str__(self) -> str:
        return f"{self.record_id} v{self.version}"


class HeldRecord(models.Model):
    """The fields of a held record beside its text, which is in the held case."""

    held = models.OneToOneField(
        HeldFile, models.CASCADE, primary_key=True, related_name="record_draft"
    )
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    draft = models.JSONField()
    record = models.ForeignKey(Record, models.SET_NULL, null=True, related_name="+")

    class Meta:
        db_table = "held_records"

    def __str__(self) -> str:
        return str(self.held_id)


class ProviderRun(models.Model):
    """One run of the parity suite against a provider."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    provider = models.CharField(max_length=40)
    started_at = models.DateTimeField(default=timezone.now)
    seconds = models.FloatField(default=0)
    passed = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)
    details = models.JSONField(default=list)
    started_by = models.CharField(max_length=254, blank=True)

    class Meta:
        db_table = "provider_runs"
        ordering = ("-started_at", "-id")
        indexes = (
            models.Index(
                fields=["workspace", "provider", "-started_at"], name="provider_run_of"
            ),
        )

    def __str__(self) -> str:
        return f"{self.provider}: {self.passed} passed, {self.failed} failed"


class ProviderPulse(models.Model):
    """The last health check of a provider, and the last successful one."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    provider = models.CharField(max_length=40)
    ok = models.BooleanField()
    message = models.CharField(max_length=300, blank=True)
    checked_at = models.DateTimeField()
    last_good_at = models.DateTimeField(null=True)
    milliseconds = models.FloatField(default=0)

    class Meta:
        db_table = "provider_pulses"
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "provider"], name="provider_pulse_once"
            ),
        )

    def __str__(self) -> str:
        return f"{self.provider}: {'ok' if self.ok else 'not ok'}"

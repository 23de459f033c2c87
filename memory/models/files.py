"""The tables of memory files: files, versions, texts held for review.

The bytes of live files and of versions are in ``stored_files``, on disk or in the
database; these rows say which bytes, whose, and where they came from. Held texts are
always in the database: only reviewers may see them.
"""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from memory.models import ids
from memory.models.tenancy import Agent, Crew, Workspace
from memory.rules.tiers import Tier


def _version_id() -> str:
    return ids.make("mv")


def _file_id() -> str:
    return ids.make("mf")


def _held_id() -> str:
    return ids.make("q")


class MemoryFile(models.Model):
    """One tier file that exists, or existed, for a crew or an agent.

    ``agent`` is None for the crew's own files. ``sha256`` is of the bytes that we last
    wrote or read there; empty when the file is gone.
    """

    id = models.CharField(primary_key=True, max_length=32, default=_file_id)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    crew = models.ForeignKey(Crew, models.CASCADE, related_name="files")
    agent = models.ForeignKey(
        Agent, models.CASCADE, related_name="files", null=True, blank=True
    )
    tier = models.CharField(max_length=8, choices=[(t.value, t.value) for t in Tier])
    key = models.CharField(max_length=64, blank=True)
    label = models.CharField(max_length=80)
    path = models.CharField(max_length=300)
    sha256 = models.CharField(max_length=64, blank=True)
    bytes = models.PositiveIntegerField(default=0)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "memory_files"
        ordering = ("path",)
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "path"], name="memory_file_path_unique"
            ),
        )

    def __str__(self) -> str:
        return self.path


class MemoryVersion(models.Model):
    """One state a file was in. ``source`` tells how the bytes got there.

    A row with ``sha256`` empty says that the file was removed. ``committed`` is false
    from before the bytes are written until the whole write is complete: after a crash
    such a row tells whose unfinished write the bytes on disk are.
    """

    id = models.CharField(primary_key=True, max_length=32, default=_version_id)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    file = models.ForeignKey(MemoryFile, models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    parent = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="children"
    )
    sha256 = models.CharField(max_length=64, blank=True)
    bytes = models.PositiveIntegerField(default=0)
    written_at = models.DateTimeField(default=timezone.now)
    written_by = models.CharField(max_length=254)
    # The whole actor, so that a write interrupted by a crash keeps its author.
    author = models.JSONField(default=dict)
    source = models.CharField(max_length=16)
    note = models.CharField(max_length=400, blank=True)
    committed = models.BooleanField(default=False)

    class Meta:
        db_table = "memory_versions"
        ordering = ("-number",)
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "file", "number"], name="version_number_unique"
            ),
        )
        indexes = (
            models.Index(fields=["workspace", "sha256"], name="version_sha"),
            models.Index(
                fields=["workspace", "file"],
                name="version_unfinished",
                condition=models.Q(committed=False),
            ),
        )

    def __str__(self) -> str:
        return f"{self.file_id} v{self.number}"


class MemoryChunk(models.Model):
    """A chunk of a file in the word index; ``heading`` is the path of headings."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    file = models.ForeignKey(MemoryFile, models.CASCADE, related_name="chunks")
    heading = models.TextField(blank=True)
    text = models.TextField()
    line_start = models.PositiveIntegerField()
    line_end = models.PositiveIntegerField()

    class Meta:
        db_table = "memory_chunks"
        ordering = ("file", "line_start")

    def __str__(self) -> str:
        return f"{self.file_id}:{self.line_start}"


class HeldState(models.TextChoices):
    HELD = "held"
    RELEASED = "released"
    REDACTED = "redacted"
    DISCARDED = "discarded"


class HeldFile(models.Model):
    """A text that the scanner held for review.

    ``version`` is the optimistic lock: a decision names the version it was made on.
    ``base_sha256`` is the file's text when the held text was written, for the diff.
    """

    id = models.CharField(primary_key=True, max_length=32, default=_held_id)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    crew = models.ForeignKey(Crew, models.CASCADE, null=True, related_name="held")
    agent = models.ForeignKey(
        Agent, models.CASCADE, null=True, blank=True, related_name="held"
    )
    tier = models.CharField(max_length=8)
    key = models.CharField(max_length=64, blank=True)
    label = models.CharField(max_length=80)
    mode = models.CharField(max_length=8)
    source = models.CharField(max_length=16)
    written_by = models.CharField(max_length=254)
    body = models.BinaryField()
    sha256 = models.CharField(max_length=64)
    bytes = models.PositiveIntegerField()
    base_sha256 = models.CharField(max_length=64, blank=True)
    fingerprint = models.CharField(max_length=64)
    signature = models.CharField(max_length=400)
    findings = models.JSONField(default=list)
    family = models.CharField(max_length=24, blank=True)
    score = models.FloatField()
    risk = models.FloatField()
    rules_version = models.CharField(max_length=64)
    state = models.CharField(
        max_length=10, choices=HeldState.choices, default=HeldState.HELD
    )
    version = models.PositiveIntegerField(default=1)
    received_at = models.DateTimeField(default=timezone.now)
    last_seen_at = models.DateTimeField(default=timezone.now)
    times_seen = models.PositiveIntegerField(default=1)
    claimed_by = models.CharField(max_length=254, blank=True)
    claimed_at = models.DateTimeField(null=True, blank=True)
    decision = models.CharField(max_length=20, blank=True)
    reason = models.TextField(blank=True)
    decided_by = models.CharField(max_length=254, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    # For undo: the version that a release created, what was blocked or cleared. Under
    # "context", what the text was judged as.
    outcome = models.JSONField(default=dict, blank=True)

    class Meta:
        db_table = "held_files"
        ordering = ("-risk", "received_at")
        indexes = (
            models.Index(
                fields=["workspace", "state", "-risk", "received_at"], name="held_queue"
            ),
            models.Index(fields=["workspace", "fingerprint"], name="held_fingerprint"),
            models.Index(fields=["workspace", "-received_at"], name="held_received"),
            models.Index(fields=["workspace", "-decided_at"], name="held_decided"),
        )

    def __str__(self) -> str:
        return f"{self.id} {self.label}"


class Cleared(models.TextChoices):
    """What a fingerprint that was allowed is of."""

    TEXT = "text"
    PASSAGE = "passage"


class Clearance(models.Model):
    """A fingerprint that a person allowed for good; other texts are still scanned.

    A passage is a sentence or line that is left out when a held text is judged again.
    Without ``allows_all`` a text with a finding of hidden text or secrets is held
    nevertheless.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    kind = models.CharField(max_length=8, choices=Cleared.choices, default=Cleared.TEXT)
    allows_all = models.BooleanField(default=True)
    fingerprint = models.CharField(max_length=64)
    held = models.ForeignKey(HeldFile, models.CASCADE, related_name="clearances")
    cleared_by = models.CharField(max_length=254)
    cleared_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "scan_clearances"
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "kind", "fingerprint"], name="clearance_once"
            ),
        )

    def __str__(self) -> str:
        return self.fingerprint[:12]


class BlockedSource(models.Model):
    """A writer whose texts are refused until the block is lifted."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    agent = models.ForeignKey(Agent, models.CASCADE, null=True, blank=True)
    source = models.CharField(max_length=16)
    held = models.ForeignKey(HeldFile, models.CASCADE, related_name="blocks")
    blocked_by = models.CharField(max_length=254)
    blocked_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "blocked_sources"
        indexes = (
            models.Index(fields=["workspace", "agent", "source"], name="blocked_of"),
        )

    def __str__(self) -> str:
        return f"{self.agent_id or 'anyone'} by {self.source}"


class KnownAttack(models.Model):
    """The signature of a text that a person discarded as an attack.

    The writer may hold a similar text automatically, because a person decided.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    signature = models.CharField(max_length=400)
    held = models.ForeignKey(HeldFile, models.CASCADE, related_name="known_as")
    confirmed_by = models.CharField(max_length=254)
    confirmed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "known_attacks"
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "held"], name="known_attack_once"
            ),
        )

    def __str__(self) -> str:
        return self.signature

"""The journal's tables: entries, the chain's head, related ledgers.

Crew, agent and mission are plain text on an entry, without foreign keys: the log
outlives what it points at. Payload and refs are text, not JSON columns, because the
hash is over the exact bytes and a database that normalises JSON would break the chain.
"""

from __future__ import annotations

import json
from typing import Any, Final

from django.db import models
from django.utils import timezone

from memory.models import ids
from memory.models.tenancy import Workspace
from memory.rules.entries import ActorType, Priority, Severity

# Retired, restricted or erased: in no recall, search or index.
UNUSABLE: Final = (
    models.Q(retired_at__isnull=False)
    | models.Q(restricted_at__isnull=False)
    | models.Q(erased_at__isnull=False)
)


class JournalEntry(models.Model):
    """One journal entry. Immutable but for priority, erasure and redaction.

    ``docid`` is the row number in the word index: the workspace's number in the high
    bits, ``seq`` in the low ones, so that a tenant's entries are one range.
    """

    id = models.CharField(primary_key=True, max_length=32, default=ids.entry)
    workspace = models.ForeignKey(
        Workspace, models.CASCADE, related_name="entries", db_index=False
    )
    seq = models.BigIntegerField()
    docid = models.BigIntegerField(unique=True)
    ts = models.DateTimeField()
    recorded_at = models.DateTimeField(default=timezone.now)
    entry_type = models.CharField(max_length=80)
    severity = models.CharField(
        max_length=8, choices=[(s.value, s.value) for s in Severity]
    )
    priority = models.CharField(
        max_length=10, choices=[(p.value, p.value) for p in Priority]
    )
    priority_at_emit = models.CharField(max_length=10)
    actor_type = models.CharField(
        max_length=12, choices=[(a.value, a.value) for a in ActorType]
    )
    actor_id = models.CharField(max_length=128)
    crew_id = models.CharField(max_length=128, null=True, blank=True)  # noqa: DJ001
    agent_id = models.CharField(max_length=128, null=True, blank=True)  # noqa: DJ001
    mission_id = models.CharField(max_length=128, null=True, blank=True)  # noqa: DJ001
    trace_id = models.CharField(max_length=128, null=True, blank=True)  # noqa: DJ001
    span_id = models.CharField(max_length=128, null=True, blank=True)  # noqa: DJ001
    expires_at = models.DateTimeField(null=True, blank=True)
    summary = models.TextField()
    payload_text = models.TextField(db_column="payload")
    refs_text = models.TextField(db_column="refs")
    body = models.TextField(blank=True)
    embeddable = models.BooleanField(default=False)
    salt = models.BinaryField(null=True)
    commitment = models.CharField(max_length=64)
    prev_hash = models.CharField(max_length=64, blank=True)
    entry_hash = models.CharField(max_length=64)
    erased_at = models.DateTimeField(null=True, blank=True)
    redacted_at = models.DateTimeField(null=True, blank=True)
    # The signature of an erased or redacted entry: it cannot be forged without the key.
    seal = models.CharField(max_length=64, null=True, blank=True)  # noqa: DJ001
    # Left out of recall and search: superseded by a newer version, or restricted.
    retired_at = models.DateTimeField(null=True, blank=True)
    restricted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "journal_entries"
        verbose_name_plural = "journal entries"
        ordering = ("-ts", "-seq")
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "seq"], name="journal_seq_unique"
            ),
            models.CheckConstraint(
                condition=models.Q(severity__in=[s.value for s in Severity]),
                name="journal_severity_known",
            ),
            models.CheckConstraint(
                condition=models.Q(priority__in=[p.value for p in Priority]),
                name="journal_priority_known",
            ),
            models.CheckConstraint(
                condition=models.Q(actor_type__in=[a.value for a in ActorType]),
                name="journal_actor_type_known",
            ),
        )
        indexes = (
            models.Index(fields=["workspace", "-ts", "-seq"], name="journal_ts"),
            models.Index(
                fields=["workspace", "crew_id", "-ts", "-seq"], name="journal_crew_ts"
            ),
            models.Index(
                fields=["workspace", "agent_id", "-ts", "-seq"], name="journal_agent_ts"
            ),
            models.Index(
                fields=["workspace", "entry_type", "-ts", "-seq"],
                name="journal_type_ts",
            ),
            models.Index(
                fields=["workspace", "trace_id"],
                name="journal_trace",
                condition=models.Q(trace_id__isnull=False),
            ),
            models.Index(
                fields=["workspace", "mission_id"],
                name="journal_mission",
                condition=models.Q(mission_id__isnull=False),
            ),
            models.Index(
                fields=["workspace", "severity", "-ts"],
                name="journal_loud",
                condition=models.Q(severity__in=["warn", "error"]),
            ),
            models.Index(
                fields=["workspace", "priority"],
                name="journal_marked",
                condition=~models.Q(priority="normal"),
            ),
            # To be counted: equal keys take next to nothing.
            models.Index(
                fields=["workspace", "embeddable"],
                name="journal_embeddable",
                condition=models.Q(embeddable=True),
            ),
            # Few rows: what the count of embeddable entries has to leave out. After the
            # other: of two that serve a query as well SQLite takes the last one.
            models.Index(
                fields=["workspace", "embeddable"],
                name="journal_unusable",
                condition=models.Q(embeddable=True) & UNUSABLE,
            ),
        )

    def __str__(self) -> str:
        return f"{self.id} {self.entry_type}"

    @property
    def payload(self) -> dict[str, Any]:
        """The payload as a JSON object; empty once erased."""
        return dict(json.loads(self.payload_text))

    @property
    def refs(self) -> dict[str, Any]:
        """The refs as a JSON object; empty once erased."""
        return dict(json.loads(self.refs_text))


class ChainHead(models.Model):
    """The end of a workspace's chain: the row every append locks first.

    ``mac`` signs the position, so that cutting off the tail of the journal shows.
    """

    workspace = models.OneToOneField(Workspace, models.CASCADE, primary_key=True)
    seq = models.BigIntegerField(default=0)
    entry_hash = models.CharField(max_length=64, blank=True)
    mac = models.CharField(max_length=64, blank=True)

    class Meta:
        db_table = "journal_chain_heads"

    def __str__(self) -> str:
        return f"{self.workspace_id} at {self.seq}"


class ChainCheckpoint(models.Model):
    """A signed record of entries that left the chain on purpose (compaction)."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE)
    created_at = models.DateTimeField(default=timezone.now)
    removed = models.JSONField()
    mac = models.CharField(max_length=64)

    class Meta:
        db_table = "journal_chain_checkpoints"
        ordering = ("id",)

    def __str__(self) -> str:
        return f"{len(self.removed)} removed"


class PriorityChange(models.Model):
    """The ledger of priorities: append-only, one row per decision."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    entry = models.ForeignKey(
        JournalEntry, models.CASCADE, related_name="priorities", db_index=False
    )
    number = models.PositiveIntegerField()
    previous = models.CharField(max_length=10)
    priority = models.CharField(max_length=10)
    reason = models.TextField(blank=True)
    set_by = models.CharField(max_length=254)
    set_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "journal_entry_priorities"
        ordering = ("entry", "number")
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "entry", "number"], name="priority_number_unique"
            ),
        )

    def __str__(self) -> str:
        return f"{self.previous} → {self.priority}"


class IdempotencyRecord(models.Model):
    """The response to a request with an Idempotency-Key, returned again to a repeat.

    The body is kept as a keyed digest only: enough to tell a repeat from a mistake.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    actor_id = models.CharField(max_length=128)
    key_digest = models.CharField(max_length=64)
    body_digest = models.CharField(max_length=64)
    answer = models.JSONField()
    created_at = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        db_table = "idempotency_records"
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "actor_id", "key_digest"],
                name="idempotency_key_unique",
            ),
        )

    def __str__(self) -> str:
        return self.key_digest[:12]


class SubjectMention(models.Model):
    """A person named by the writer of an entry, as the writer wrote it.

    ``folded`` is the alias without case and accents, for look-up.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    entry = models.ForeignKey(
        JournalEntry, models.CASCADE, related_name="mentions", db_index=False
    )
    alias = models.CharField(max_length=320)
    folded = models.CharField(max_length=640)

    class Meta:
        db_table = "subject_mentions"
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "entry", "folded"], name="mention_once"
            ),
        )
        indexes = (models.Index(fields=["workspace", "folded"], name="mention_folded"),)

    def __str__(self) -> str:
        return self.alias

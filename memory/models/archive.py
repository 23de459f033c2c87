"""Entries that compaction moved out of the journal, with their texts cut short."""

from __future__ import annotations

import json
from typing import Any

from django.db import models
from django.utils import timezone

from memory.models.journal import ChainCheckpoint
from memory.models.tenancy import Workspace


class ArchivedEntry(models.Model):
    """One entry that left the journal; every identity column, the texts cut.

    ``payload_text`` stays valid JSON: a payload that does not fit is an object with
    its beginning under ``cut``. ``subjects`` are the folded aliases the writer named,
    one a line, with a line break before and after each.
    """

    id = models.CharField(primary_key=True, max_length=32)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    checkpoint = models.ForeignKey(
        ChainCheckpoint, models.SET_NULL, null=True, related_name="archived"
    )
    seq = models.BigIntegerField()
    ts = models.DateTimeField()
    recorded_at = models.DateTimeField()
    archived_at = models.DateTimeField(default=timezone.now)
    entry_type = models.CharField(max_length=80)
    severity = models.CharField(max_length=8)
    priority = models.CharField(max_length=10)
    actor_type = models.CharField(max_length=12)
    actor_id = models.CharField(max_length=128)
    crew_id = models.CharField(max_length=128, null=True, blank=True)  # noqa: DJ001
    agent_id = models.CharField(max_length=128, null=True, blank=True)  # noqa: DJ001
    mission_id = models.CharField(max_length=128, null=True, blank=True)  # noqa: DJ001
    trace_id = models.CharField(max_length=128, null=True, blank=True)  # noqa: DJ001
    span_id = models.CharField(max_length=128, null=True, blank=True)  # noqa: DJ001
    expires_at = models.DateTimeField(null=True, blank=True)
    summary = models.CharField(max_length=200)
    payload_text = models.CharField(max_length=400, db_column="payload")
    subjects = models.TextField(blank=True)
    # Left out of every list: it names a person whose data may not be used.
    restricted_at = models.DateTimeField(null=True, blank=True)
    original_size_bytes = models.PositiveBigIntegerField()
    commitment = models.CharField(max_length=64)
    prev_hash = models.CharField(max_length=64, blank=True)
    entry_hash = models.CharField(max_length=64)

    class Meta:
        db_table = "journal_entries_archived"
        verbose_name_plural = "archived entries"
        ordering = ("-ts", "-seq")
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "seq"], name="archived_seq_unique"
            ),
        )
        indexes = (
            models.Index(fields=["workspace", "-ts", "-seq"], name="archived_ts"),
        )

    def __str__(self) -> str:
        return f"{self.id} {self.entry_type}"

    @property
    def payload(self) -> dict[str, Any]:
        """The payload as far as it was kept."""
        return dict(json.loads(self.payload_text))

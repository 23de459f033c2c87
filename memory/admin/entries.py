"""The journal and the tables that belong to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from memory.admin import rows
from memory.journal import append as journal
from memory.models import (
    Agent,
    ArchivedEntry,
    ChainCheckpoint,
    ChainHead,
    IdempotencyRecord,
    JobRun,
    JournalEntry,
    PriorityChange,
    SubjectMention,
)
from memory.rules.entries import Priority

REASON: Final = "set in the Django admin"
Entries = QuerySet[JournalEntry]


# ── Journal ──────────────────────────────────────────────────────────────────
def priority_action(priority: Priority) -> Callable[..., None]:
    def mark(page: EntryRows, request: HttpRequest, selection: Entries) -> None:
        page.mark(request, selection, priority)

    mark.__name__ = f"make_{priority.value}"
    action: Callable[..., None] = admin.action(
        mark, description=f"Set priority to {priority.value}"
    )
    return action


@admin.register(JournalEntry)
class EntryRows(rows.ReadOnly):
    """Entries, read only; priority changes through the journal."""

    actions = tuple(priority_action(priority) for priority in Priority)
    list_display = ("id", "seq", "ts", "entry_type", "severity", "priority", "head")
    list_filter = ("severity", "priority", "workspace")
    search_fields = ("=id", "=trace_id", "=mission_id")
    search_help_text = "An id, a trace or a mission, whole. Words: on the Journal page."
    ordering = ("-docid",)
    exclude = ("salt", "commitment", "prev_hash", "entry_hash", "body")
    readonly_fields = ("hashes", "related")

    @admin.display(description="summary")
    def head(self, row: JournalEntry) -> str:
        return row.summary[:80]

    @admin.display(description="chain")
    def hashes(self, row: JournalEntry) -> str:
        return (
            f"{rows.short(row.prev_hash)} → {rows.short(row.entry_hash)}, "
            f"commitment {rows.short(row.commitment)}"
        )

    @admin.display(description="see also")
    def related(self, row: JournalEntry) -> SafeString:
        """Return links to the page of the entry and to its agent."""
        agent = Agent.objects.filter(pk=row.agent_id or "").first()
        page = reverse("memory:entry", args=[row.pk])
        return format_html(
            '<a href="{}">Page of this entry</a> · agent {}', page, rows.link(agent)
        )

    def mark(self, request: HttpRequest, entries: Entries, priority: Priority) -> None:
        """Set priorities through the journal, entry by entry."""
        self.act_on_each(
            request, entries,
            lambda entry, by: journal.prioritise(entry, priority, REASON, by=by),
            f"set to {priority.value}",
        )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> Entries:
        """Defer the long texts until one entry is opened."""
        rows: Entries = super().get_queryset(request)
        return rows.defer("payload_text", "refs_text", "body")


@admin.register(PriorityChange)
class PriorityRows(rows.ReadOnly):
    list_display = ("entry_link", "number", "previous", "priority", "set_by", "set_at")
    list_filter = ("priority", "workspace")
    search_fields = ("=entry__id", "set_by")

    @admin.display(description="entry", ordering="entry_id")
    def entry_link(self, row: PriorityChange) -> SafeString:
        return rows.entry_link(row.entry_id)


@admin.register(ChainHead)
class HeadRows(rows.ReadOnly):
    """Where each chain ends."""

    list_display = ("workspace", "seq", "hash_head")
    exclude = ("entry_hash", "mac")
    readonly_fields = ("hash_head",)
    hash_head = rows.shortened("entry_hash")


@admin.register(ChainCheckpoint)
class CheckpointRows(rows.ReadOnly):
    """Signed removals of entries from a chain."""

    list_display = ("id", "workspace", "created_at")
    list_filter = ("workspace",)
    exclude = ("mac",)


@admin.register(SubjectMention)
class MentionRows(rows.ReadOnly):
    """People named by writers of entries."""

    list_display = ("alias", "entry_id", "workspace")
    list_filter = ("workspace",)
    search_fields = ("=folded", "=entry__id")
    raw_id_fields = ("entry",)


@admin.register(IdempotencyRecord)
class IdempotencyRows(rows.ReadOnly):
    """Answers kept for repeated requests."""

    list_display = ("id", "actor_id", "workspace", "created_at", "key_head")
    list_filter = ("workspace",)
    search_fields = ("=actor_id",)
    exclude = ("key_digest", "body_digest")
    readonly_fields = ("key_head",)
    key_head = rows.shortened("key_digest", "key")


@admin.register(ArchivedEntry)
class ArchivedRows(rows.ReadOnly):
    list_display = ("id", "seq", "ts", "entry_type", "archived_at", "head", "workspace")
    list_filter = ("entry_type", "workspace")
    search_fields = ("=id", "=trace_id", "=mission_id")
    search_help_text = "An id, a trace or a mission, whole."
    exclude = ("commitment", "prev_hash", "entry_hash")
    readonly_fields = ("hash_head",)
    hash_head = rows.shortened("entry_hash")
    raw_id_fields = ("checkpoint",)

    @admin.display(description="summary")
    def head(self, row: ArchivedEntry) -> str:
        return row.summary[:80]


@admin.register(JobRun)
class RunRows(rows.ReadOnly):
    """Runs of the scheduled jobs."""

    list_display = (
        "id", "name", "state", "workspace", "started_at", "ended_at", "heartbeat_at",
    )  # fmt: skip
    list_filter = ("name", "state", "workspace")
    search_fields = ("name", "slot", "error")

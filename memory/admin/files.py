"""Memory files, their versions, and what the scanner held, without its text."""

from __future__ import annotations

from typing import ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from memory.admin import rows
from memory.models import (
    BlockedSource,
    Clearance,
    HeldFile,
    KnownAttack,
    MemoryFile,
    MemoryVersion,
    ReviewLabel,
    ScannerProposal,
)

WITH_HELD: tuple[str, ...] = ("workspace", "held")


@admin.register(MemoryFile)
class FileRows(rows.ReadOnly):
    """The memory files that are on disk, by their path."""

    list_display = (
        "label", "tier", "crew", "agent", "bytes", "hash_head", "updated_at",
    )  # fmt: skip
    list_filter = ("tier", "workspace")
    list_select_related = ("workspace", "crew", "agent")
    search_fields = ("label", "=id", "path")
    exclude = ("sha256",)
    readonly_fields = ("hash_head",)
    hash_head = rows.shortened("sha256")


@admin.register(MemoryVersion)
class VersionRows(rows.ReadOnly):
    """The versions of every file; their bytes are in the file storage."""

    list_display = (
        "id", "file_link", "number", "source", "written_by", "bytes", "written_at",
    )  # fmt: skip
    list_filter = ("source", "committed", "workspace")
    list_select_related = ("workspace", "file")
    search_fields = ("=id", "=file__id", "file__label", "written_by")
    exclude = ("sha256",)
    readonly_fields = ("hash_head",)
    hash_head = rows.shortened("sha256")
    raw_id_fields = ("file", "parent")
    file_link = rows.linked("file", "label")


@admin.register(HeldFile)
class HeldRows(rows.ReadOnly):
    """Writes that wait for a reviewer, without their text: reading it is recorded."""

    list_display = (
        "id", "state", "family", "label", "source", "written_by", "risk", "received_at",
    )  # fmt: skip
    list_filter = ("state", "family", "source", "workspace")
    search_fields = ("=id", "label", "written_by")
    # Body and findings quote the held text; a fingerprint lets it be guessed.
    exclude = (
        "body", "findings", "outcome", "sha256", "base_sha256", "fingerprint",
        "signature",
    )  # fmt: skip
    raw_id_fields = ("crew", "agent")

    def get_queryset(self, request: HttpRequest) -> QuerySet[HeldFile]:
        """Defer the held texts, which are never shown here."""
        rows: QuerySet[HeldFile] = super().get_queryset(request)
        return rows.defer("body", "findings", "outcome")


class HeldFileRelated(rows.ReadOnly):
    """Rows that a decision about a held file made."""

    list_filter: ClassVar = ("workspace",)
    list_select_related = WITH_HELD
    search_fields = ("=held__id",)
    raw_id_fields = ("held",)

    @admin.display(description="held file")
    def held_link(
        self, row: Clearance | BlockedSource | KnownAttack | ReviewLabel
    ) -> str | SafeString:
        return rows.link(row.held, row.held_id)


@admin.register(Clearance)
class ClearanceRows(HeldFileRelated):
    """Texts that a reviewer released and that pass from then on."""

    list_display = ("id", "held_link", "cleared_by", "cleared_at", "workspace")
    exclude = ("fingerprint",)


@admin.register(BlockedSource)
class BlockedRows(HeldFileRelated):
    """Sources whose writes are refused."""

    list_display = ("id", "source", "agent", "held_link", "blocked_by", "blocked_at")
    list_select_related = ("workspace", "held", "agent")


@admin.register(KnownAttack)
class AttackRows(HeldFileRelated):
    """Texts confirmed as attacks; similar texts are held at once."""

    list_display = ("id", "held_link", "confirmed_by", "confirmed_at", "workspace")
    exclude = ("signature",)


@admin.register(ReviewLabel)
class LabelRows(HeldFileRelated):
    """What decisions said of held texts."""

    list_display = ("id", "held_link", "label", "decided_by", "decided_at", "workspace")


@admin.register(ScannerProposal)
class ProposalRows(rows.ReadOnly):
    """Changes of the scanner that decisions spoke for."""

    list_display = ("id", "kind", "before", "after", "state", "decided_by", "workspace")
    list_filter = ("workspace", "kind", "state")
    list_select_related = ("workspace",)
    raw_id_fields = ("held",)
    exclude = ("subject",)

"""Raw rows of the index, read only. A vector is shown by its shape, never in full."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from episodic.models import Embedding, EmbeddingChange, IndexState, MemoryRelation
from memory.admin import rows


@admin.register(Embedding)
class EmbeddingRows(rows.ReadOnly):
    list_display = (
        "entry_link", "state", "shape", "model", "importance_score",
        "reference_count", "attempts", "indexed_at",
    )  # fmt: skip
    list_filter = ("state", "model", "workspace")
    search_fields = ("=entry__id",)
    search_help_text = "The id of an entry, whole."
    exclude = ("vector", "entry")
    readonly_fields = ("entry_link", "shape")
    ordering = ("-entry_id",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Embedding]:
        """Leave the vectors where they are; their width says enough."""
        rows: QuerySet[Embedding] = super().get_queryset(request)
        return rows.defer("vector")

    @admin.display(description="entry", ordering="entry_id")
    def entry_link(self, row: Embedding) -> SafeString:
        return rows.entry_link(row.entry_id)

    @admin.display(description="vector")
    def shape(self, row: Embedding) -> str:
        """Say how wide the vector is."""
        return f"{row.dim} × float32" if row.dim else "none yet"


@admin.register(IndexState)
class IndexStateRows(rows.ReadOnly):
    """How far the sweep has read each journal."""

    list_display = ("workspace", "seq", "policy_version")


@admin.register(EmbeddingChange)
class ChangeRows(rows.ReadOnly):
    """The change log that every process's matrix reads."""

    list_display = ("id", "workspace_id", "entry_id", "kind")
    list_filter = ("kind",)
    list_select_related = False
    search_fields = ("=entry_id",)


@admin.register(MemoryRelation)
class RelationRows(rows.ReadOnly):
    """Edges between entries, from the newer to the older one."""

    list_display = ("id", "relation", "src_link", "dst_link", "weight", "created_at")
    list_filter = ("relation", "workspace")
    search_fields = ("=src__id", "=dst__id")
    search_help_text = "The id of an entry, whole."
    exclude = ("src", "dst")
    readonly_fields = ("src_link", "dst_link")

    @admin.display(description="from", ordering="src_id")
    def src_link(self, row: MemoryRelation) -> SafeString:
        return rows.entry_link(row.src_id)

    @admin.display(description="to", ordering="dst_id")
    def dst_link(self, row: MemoryRelation) -> SafeString:
        return rows.entry_link(row.dst_id)

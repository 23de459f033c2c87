"""The log of changes of the index that every process's matrix reads, kept short."""

from __future__ import annotations

from typing import Final

from django.db import transaction

from episodic.models import EmbeddingChange

KEEP_CHANGES: Final = 200_000


def trim() -> None:
    """Delete old rows of the change log, and record that for outdated matrices."""
    last = EmbeddingChange.objects.order_by("-id").values_list("id", flat=True).first()
    first = EmbeddingChange.objects.order_by("id").values_list("id", flat=True).first()
    if last is None or first is None or last - first < 2 * KEEP_CHANGES:
        return
    upto = last - KEEP_CHANGES
    with transaction.atomic():
        old = EmbeddingChange.objects.filter(id__lte=upto)
        workspace_ids = list(
            old.order_by().values_list("workspace_id", flat=True).distinct()
        )
        EmbeddingChange.objects.bulk_create(
            EmbeddingChange(workspace_id=workspace_id, entry_id=str(upto), kind="trim")
            for workspace_id in workspace_ids
        )
        old.delete()

"""How the making of a bundle ended: ready, failed, or erased meanwhile."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

import structlog
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext_noop

from gdpr import audit_log, bundle_files
from gdpr.export.bundle import Collection
from gdpr.models import ActionStatus, Export, ExportState, GdprAction
from memory.journal import append as journal
from memory.rules import errors
from memory.rules.entries import NewEntry
from memory.rules.permissions import Actor, system

# The stored error of a bundle whose person was erased while it was made.
ERASED: Final = gettext_noop("erased meanwhile")
log = structlog.get_logger(__name__)


def _claimed(export: Export) -> QuerySet[Export]:
    return Export.objects.filter(
        pk=export.pk, state=ExportState.MAKING, claimed_by=export.claimed_by
    )


def is_claimed(export: Export) -> bool:
    """Whether the claim is still ours, which holds until the transaction ends."""
    return bool(_claimed(export).select_for_update().values_list("pk"))


def end(export: Export, **fields: Any) -> bool:
    """Store the result if the claim is still ours: an erasure may have removed it."""
    with transaction.atomic():
        if not _claimed(export).update(lease_until=None, **fields):
            return False
        if fields.get("state") != ExportState.REVIEW:
            export.words.all().delete()
    export.refresh_from_db()
    return True


def waiting(export: Export, action: GdprAction) -> Export:
    """Return a bundle that waits; one that was erased meanwhile ends its action."""
    live = Export.objects.get(pk=export.pk)
    if live.state == ExportState.GONE:
        audit_log.finish(action, ActionStatus.FAILED, error=ERASED)
    return live


def failed(export: Export, action: GdprAction, error: Exception) -> Export:
    message = (
        error.title if isinstance(error, errors.AppError) else type(error).__name__
    )
    log.warning("export_failed", export=export.id, why=type(error).__name__)
    if end(export, state=ExportState.FAILED, error=message):
        bundle_files.erase(export)
    audit_log.finish(action, ActionStatus.FAILED, error=message)
    return Export.objects.get(pk=export.pk)


def ready(export: Export, action: GdprAction, collection: Collection) -> Export:
    counts = {place.name: place.count for place in collection.places}
    counts_field = {
        "action": action.id,
        "places": counts,
        "total": collection.total,
        "other_people": asdict(collection.other_people),
    }
    values = {"counts": counts_field, "sha256": export.sha256, "bytes": export.bytes}
    if not end(export, state=ExportState.READY, **values):
        live = Export.objects.get(pk=export.pk)
        if live.state == ExportState.GONE:
            bundle_files.erase(export)
        audit_log.finish(action, ActionStatus.FAILED, error=ERASED)
        return live
    scope = {**counts, "covered": collection.other_people.covered}
    audit_log.finish(action, ActionStatus.COMPLETED, scope=scope)
    payload = {
        "export_id": export.id,
        "subject": export.subject_ref,
        "rows": sum(counts.values()),
    }
    record(export, "gdpr.exported", "A bundle was made for an access request", payload)
    return export


def record(
    export: Export, entry_type: str, summary: str, payload: dict[str, Any],
    by: Actor | None = None,
) -> None:  # fmt: skip
    actor = by or system(export.workspace_id, "gdpr")
    journal.write(
        [NewEntry(entry_type=entry_type, summary=summary, payload=payload)], by=actor
    )

"""What the review of a held record does: save it, take it back, show what is there."""

from __future__ import annotations

from typing import Any

from memory import records
from memory.files import quarantine
from memory.models import HeldFile, HeldRecord, Record
from memory.records import drafts
from memory.records.drafts import Draft
from memory.rules import errors
from memory.rules.permissions import Actor


def _same(draft: Draft, record_id: str, by: Actor) -> Record | None:
    """Return the record that a held draft would have changed, None for a new one."""
    found = records.mine(draft.owner, by=by).filter(pk=record_id).first()
    return found or records.by_external(
        draft.external_id, owner=draft.owner, scope=draft.scope, by=by
    )


class _Releases:
    """What the review of a held record calls."""

    def release(
        self,
        held: HeldFile,
        text: str,
        *,
        reason: str,  # noqa: ARG002  (the case keeps it)
        by: Actor,
    ) -> dict[str, Any]:
        draft, kept = drafts.draft_of(held, text)
        said = kept["provenance"]
        record = _same(draft, kept["record_id"], by)
        before = record.content if record else ""
        if record is None:
            record, _ = records.keep(draft, provenance=said, by=by)
        else:
            version = record.version
            record = records.replace_content(
                record, draft, expected=version, provenance=said, by=by
            )
        if record is None:
            raise errors.Conflict("The record changed just now.", code="busy_record")
        HeldRecord.objects.filter(pk=held.pk).update(record=record)
        return {"record_id": record.id, "version": record.version, "before": before}

    def take_back(self, held: HeldFile, *, by: Actor) -> None:
        told = held.outcome
        record = Record.objects.filter(
            pk=told["record_id"], workspace_id=by.workspace_id
        ).first()
        if record is None or record.version != told["version"]:
            detail = "The record changed since; mend it by hand."
            raise errors.Conflict(detail, code="written_since")
        if not told["before"]:
            records.forget(record, by=by)
            return
        draft = records.draft_of(record, told["before"])
        records.replace_content(record, draft, expected=record.version, by=by)

    def current(self, held: HeldFile) -> str:
        kept = HeldRecord.objects.get(pk=held.pk).draft
        row = Record.objects.filter(pk=kept["record_id"]).first()
        return row.content if row else ""


def install() -> None:
    """Put the release of records where the review looks for it."""
    quarantine.RELEASERS[drafts.Shelf.RECORDS.value] = _Releases()

"""What the review of a held record does: save it, take it back, show what is there."""

from __future__ import annotations

from typing import Any

from memory import records, shelf
from memory.files import quarantine
from memory.models import HeldFile, HeldRecord, Record
from memory.rules import errors
from memory.rules.actors import Actor


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
        draft, kept = shelf.draft_of(held, text)
        record = records.mine(draft.owner, by=by).filter(pk=kept["record_id"]).first()
        before = record.content if record else ""
        if record is None:
            record = records.insert(draft, provenance=kept["provenance"], by=by)
        else:
            version = record.version
            record = records.replace_content(record, draft, expected=version, by=by)
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
    quarantine.RELEASERS[shelf.Shelf.RECORDS.value] = _Releases()

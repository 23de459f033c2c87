"""Release held records: save one, undo it, read the present content."""

from __future__ import annotations

from typing import Any

from memory import records
from memory.files import quarantine
from memory.models import HeldFile, HeldRecord, Record
from memory.records import drafts
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.rules.translation import gettext


class _Releases:
    """Implements ``quarantine.Releaser`` for records."""

    def release(
        self,
        held_file: HeldFile,
        text: str,
        *,
        reason: str,  # noqa: ARG002  (the case keeps it)
        by: Actor,
    ) -> dict[str, Any]:
        draft, fields = drafts.draft_of(held_file, text)
        provenance = fields["provenance"]
        # The record that the draft would have changed; None for a new one.
        current = records.current_records(draft.owner, by=by)
        record = current.filter(pk=fields["record_id"]).first() or records.by_external(
            draft.external_id, owner=draft.owner, scope=draft.scope, by=by
        )
        before = record.content if record else ""
        if record is None:
            record, _ = records.keep(draft, provenance=provenance, by=by)
        else:
            version = record.version
            record = records.replace_content(
                record, draft, expected=version, provenance=provenance, by=by
            )
        if record is None:
            raise errors.Conflict(
                gettext("The record changed just now."), code="busy_record"
            )
        HeldRecord.objects.filter(pk=held_file.pk).update(record=record)
        return {"record_id": record.id, "version": record.version, "before": before}

    def take_back(self, held_file: HeldFile, *, by: Actor) -> None:
        outcome = held_file.outcome
        record = Record.objects.filter(
            pk=outcome["record_id"], workspace_id=by.workspace_id
        ).first()
        if record is None or record.version != outcome["version"]:
            detail = gettext("The record changed since; mend it by hand.")
            raise errors.Conflict(detail, code="written_since")
        if not outcome["before"]:
            records.forget(record, by=by)
            return
        draft = records.draft_of(record, outcome["before"])
        records.replace_content(record, draft, expected=record.version, by=by)

    def current(self, held_file: HeldFile) -> str:
        fields = HeldRecord.objects.get(pk=held_file.pk).draft
        row = Record.objects.filter(pk=fields["record_id"]).first()
        return row.content if row else ""


def install() -> None:
    """Register the release of records with the quarantine."""
    quarantine.RELEASERS[drafts.RecordTier.RECORDS.value] = _Releases()

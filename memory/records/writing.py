"""Write records: permit, validate, scan, then one transaction with the journal.

A draft that the scanner holds is in the same quarantine as held files; a person's
release saves it. The gate runs outside any transaction: the held case must be stored
although the write is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from django.db import IntegrityError, transaction
from django.utils import timezone

from memory import lookup
from memory.models import Record, RecordEvent, RecordStatus
from memory.records import chain, drafts, rows, similarity
from memory.records.access import owner_of, permit, reach, scope_of
from memory.records.drafts import Draft
from memory.records.types import KEEP, Action, Amendment, Saved
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.rules.translation import gettext

TRIES: Final = 50


# ── New records ──────────────────────────────────────────────────────────────
def prepare(draft: Draft, *, provenance: str, by: Actor) -> Draft:
    """Check and scan a draft; return it as it may be saved, perhaps redacted.

    Raises Forbidden, Invalid, TooLarge, Held or Refused. Not inside a transaction.
    """
    permit(draft.owner, by.workspace_id, by)
    drafts.check(draft)
    return drafts.gate(draft, "", source=provenance, by=by)


def insert(draft: Draft, *, provenance: str, by: Actor) -> Record:
    """Save a draft that the gate or a person has approved."""
    permit(draft.owner, by.workspace_id, by)
    drafts.check(draft)
    record = rows.new_row(draft, provenance, by)
    with transaction.atomic():
        rows.store([record], [draft], by)
    return record


def keep(draft: Draft, *, provenance: str, by: Actor) -> tuple[Record, Action]:
    """Save a prepared draft; with a known external id as that record's next version.

    May run inside the caller's transaction, after ``prepare`` outside of it.
    """
    for _ in range(TRIES):
        existing = rows.current_by_name([draft], by).get(rows.name_of(draft))
        if existing is None:
            try:
                return insert(draft, provenance=provenance, by=by), Action.CREATED
            except IntegrityError:
                # Another writer saved the same external id first: revise that record.
                if not draft.external_id:
                    raise
                continue
        if rows.is_same(existing, draft):
            return existing, Action.UNCHANGED
        updated = replace_content(
            existing, draft, expected=existing.version, provenance=provenance, by=by
        )
        if updated is not None:
            return updated, Action.UPDATED
    raise busy()


def busy() -> errors.Conflict:
    """Return the error for a record that others keep changing."""
    return errors.Conflict(
        gettext("The record keeps changing; try again."), code="busy_record"
    )


def save(draft: Draft, *, provenance: str, by: Actor) -> Saved:
    """Save a record; it is committed and searchable when this returns.

    Raises Forbidden, Invalid, TooLarge, Held or Refused; then nothing was saved.
    Similar records are reported, and do not prevent saving.
    """
    prepared = prepare(draft, provenance=provenance, by=by)
    record, action = keep(prepared, provenance=provenance, by=by)
    return Saved(record, action, similarity.similar_records(record))


# ── Next versions ────────────────────────────────────────────────────────────
def draft_of(record: Record, content: str, subjects: tuple[str, ...] = ()) -> Draft:
    """Return a record as the draft of its next version."""
    return Draft(
        content=content,
        owner=owner_of(record),
        scope=scope_of(record),
        external_id=record.external_id,
        subjects=subjects,
        **{name: getattr(record, name) for name in rows.FACTS},
    )


def replace_content(
    record: Record,
    draft: Draft,
    *,
    expected: int,
    provenance: str | None = None,
    reason: str = "",
    by: Actor,
) -> Record | None:
    """Save an approved draft as the next version; None for another present version."""
    permit(owner_of(record), record.workspace_id, by)
    drafts.check(draft)
    with transaction.atomic():
        locked = Record.objects.select_for_update().filter(pk=record.pk)
        live = lookup.required(locked, workspace_id=by.workspace_id)
        if live.status != RecordStatus.CURRENT:
            raise errors.NotFound
        if live.version != expected:
            return None
        people = chain.version_subjects(live, draft)
        trace = chain.version_trace(live, draft, by=by)
        live.version += 1
        rows.fill(live, draft, provenance or live.provenance)
        live.current_entry = chain.extend(
            live, RecordEvent.UPDATED, people, by=by, trace_id=trace, reason=reason
        )
        live.updated_at = live.current_entry.recorded_at
        live.save()
        chain.retire_old(live)
    return live


def _amended(record: Record, amendment: Amendment) -> Draft:
    """Return the draft of a record's next version."""
    new = amendment.content
    content = new(record.content) if callable(new) else new
    draft = draft_of(record, record.content if content is None else content)
    changes = {
        name: value
        for name in ("metadata", "confidence", "kind")
        if (value := getattr(amendment, name)) is not None
    }
    if amendment.expires_at is not KEEP:
        changes["expires_at"] = amendment.expires_at
    return replace(draft, subjects=amendment.subjects, **changes)


def amend(
    record: Record,
    amendment: Amendment,
    *,
    provenance: str,
    expected: int | None = None,
    reason: str = "",
    by: Actor,
) -> Record:
    """Change a record; simultaneous changes are applied one after the other.

    With ``expected`` another present version raises Conflict ``stale_version``. Without
    a difference no version is made.
    """
    for _ in range(TRIES):
        live = reach(owner_of(record) if by.is_agent else None, by=by)
        row = lookup.required(live, pk=record.pk, status=RecordStatus.CURRENT)
        if expected is not None and row.version != expected:
            raise errors.Conflict(
                gettext("The record changed since you read it."),
                code="stale_version",
                version=row.version,
            )
        draft = _amended(row, amendment)
        permit(draft.owner, row.workspace_id, by)
        drafts.check(draft)
        if rows.is_same(row, draft):
            return row
        draft = drafts.gate(
            draft, row.id, source=provenance, by=by, present=row.content
        )
        updated = replace_content(
            row, draft, expected=row.version, provenance=provenance, reason=reason,
            by=by,
        )  # fmt: skip
        if updated is not None:
            return updated
    raise busy()


def revise(
    record: Record,
    change: Callable[[str], str],
    *,
    provenance: str,
    subjects: tuple[str, ...] = (),
    by: Actor,
) -> Record:
    """Change a record's content by a function of the present content."""
    amendment = Amendment(content=change, subjects=subjects)
    return amend(record, amendment, provenance=provenance, by=by)


# ── Superseding ──────────────────────────────────────────────────────────────
def supersede(
    sources: Sequence[Record],
    draft: Draft,
    *,
    provenance: str,
    reason: str = "",
    by: Actor,
) -> Saved:
    """Save a record that supersedes others; they stay, hidden from every answer."""
    if not sources:
        raise errors.Invalid("Name the records to supersede.", code="no_sources")
    for source in sources:
        permit(owner_of(source), source.workspace_id, by)
    prepared = prepare(draft, provenance=provenance, by=by)
    with transaction.atomic():
        new = rows.new_row(prepared, provenance, by)
        ids = sorted({source.id for source in sources})
        locked = Record.objects.select_for_update().filter(
            workspace_id=by.workspace_id, pk__in=ids, status=RecordStatus.CURRENT
        )
        live = list(locked.order_by("pk"))
        if len(live) != len(ids):
            raise errors.Conflict(
                gettext("One of the records is not current any more."),
                code="not_current",
            )
        for row in live:
            _end(row, new.id, reason, by)
        rows.store([new], [prepared], by, reason)
        Record.objects.filter(pk__in=ids).update(superseded_by=new)
    return Saved(new, Action.CREATED, similarity.similar_records(new))


def _end(row: Record, by_id: str, reason: str, by: Actor) -> None:
    """Mark a record as superseded, in the journal and in its row."""
    row.version += 1
    row.status, row.updated_at = RecordStatus.SUPERSEDED, timezone.now()
    row.current_entry = chain.extend(
        row, RecordEvent.SUPERSEDED, by=by, reason=reason, superseded_by=by_id
    )
    row.save()
    chain.retire_old(row)

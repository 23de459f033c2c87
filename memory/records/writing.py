"""Writing records: permit, shape, scan, then one transaction with the journal.

What the scanner holds waits in the same quarantine as a file does; a person's release
saves it. The gate stands outside every transaction: what it holds must outlive its
refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from django.db import IntegrityError, transaction
from django.utils import timezone

from memory import shelf
from memory.files.vault import digest
from memory.models import Record, RecordEvent, RecordStatus
from memory.records import chain, likeness
from memory.records.access import owner_of, permit, reach, scope_of
from memory.records.types import KEEP, Action, Amendment, Saved
from memory.rules import errors, scopes
from memory.rules.actors import Actor
from memory.shelf import Draft

TRIES: Final = 50


# ── New records ──────────────────────────────────────────────────────────────
def prepare(draft: Draft, *, provenance: str, by: Actor) -> Draft:
    """Judge a draft and return it as it may be kept, perhaps redacted.

    Raises Forbidden, Invalid, TooLarge, Held or Refused. Not inside a transaction.
    """
    permit(draft.owner, by.workspace_id, by)
    shelf.check(draft)
    return shelf.gate(draft, "", source=provenance, by=by)


def _fill(record: Record, draft: Draft, provenance: str) -> None:
    """Put a draft's words and facts into a row; its place is not touched."""
    record.content, record.sha256 = draft.content, digest(draft.content.encode())
    record.metadata, record.confidence = draft.metadata, draft.confidence
    record.kind, record.session_id = draft.kind, draft.session_id
    record.turn_range, record.expires_at = draft.turn_range, draft.expires_at
    record.provenance = provenance


def _new(draft: Draft, provenance: str, by: Actor) -> Record:
    owner, scope = draft.owner, draft.scope
    record = Record(
        workspace_id=by.workspace_id,
        crew=owner.crew if owner else None,
        agent=owner.agent if owner else None,
        scope_extra=dict(scope.extra) or None,
        scope_key=scope.key,
        external_id=draft.external_id,
        **{f"scope_{name}": getattr(scope, name) for name in scopes.NAMES},
    )
    _fill(record, draft, provenance)
    return record


def _store(record: Record, draft: Draft, by: Actor, reason: str = "") -> Record:
    people = chain.people_in(record, draft)
    record.save(force_insert=True)
    record.current_entry = chain.extend(
        record, RecordEvent.CREATED, people, by=by, reason=reason
    )
    record.created_at = record.updated_at = record.current_entry.recorded_at
    record.save(update_fields=["current_entry", "created_at", "updated_at"])
    return record


def insert(draft: Draft, *, provenance: str, by: Actor) -> Record:
    """Save a draft that was judged already, by the gate or by a person."""
    permit(draft.owner, by.workspace_id, by)
    shelf.check(draft)
    with transaction.atomic():
        return _store(_new(draft, provenance, by), draft, by)


def _same(draft: Draft, by: Actor) -> Record | None:
    """Return the current record of a draft's external id, expired or not."""
    owner = draft.owner
    rows = Record.objects.select_related("crew__workspace", "agent").filter(
        workspace_id=by.workspace_id,
        status=RecordStatus.CURRENT,
        crew=owner.crew if owner else None,
        agent=owner.agent if owner else None,
        scope_key=draft.scope.key,
        external_id=draft.external_id,
    )
    return rows.first()


def _says(record: Record, draft: Draft) -> bool:
    """Whether a record already holds all that a draft does."""
    facts = ("content", "kind", "metadata", "confidence", "session_id", "expires_at")
    same = all(getattr(record, name) == getattr(draft, name) for name in facts)
    return same and set(draft.subjects) <= {*chain.named(record), record.scope_user}


def keep(draft: Draft, *, provenance: str, by: Actor) -> tuple[Record, Action]:
    """Save a prepared draft; a known external id makes it that record's next version.

    May run inside the caller's own transaction, after ``prepare`` outside of it.
    """
    for _ in range(TRIES):
        found = _same(draft, by) if draft.external_id else None
        if found is None:
            try:
                return insert(draft, provenance=provenance, by=by), Action.CREATED
            except IntegrityError:
                # Somebody else saved the same external id first: theirs goes on.
                if not draft.external_id:
                    raise
                continue
        if _says(found, draft):
            return found, Action.UNCHANGED
        done = replace_content(
            found, draft, expected=found.version, provenance=provenance, by=by
        )
        if done is not None:
            return done, Action.UPDATED
    raise _busy()


def _busy() -> errors.Conflict:
    return errors.Conflict("The record keeps changing; try again.", code="busy_record")


def save(draft: Draft, *, provenance: str, by: Actor) -> Saved:
    """Save a record; it is committed and searchable when this returns.

    Raises Forbidden, Invalid, TooLarge, Held or Refused; then nothing was saved. What
    says nearly the same already is told, and never in the way.
    """
    judged = prepare(draft, provenance=provenance, by=by)
    record, action = keep(judged, provenance=provenance, by=by)
    return Saved(record, action, likeness.alike(record))


# ── Next versions ────────────────────────────────────────────────────────────
def draft_of(record: Record, content: str, subjects: tuple[str, ...] = ()) -> Draft:
    """Return a record as the draft of its next version."""
    return Draft(
        content=content,
        owner=owner_of(record),
        kind=record.kind,
        scope=scope_of(record),
        metadata=record.metadata,
        confidence=record.confidence,
        session_id=record.session_id,
        turn_range=record.turn_range,
        expires_at=record.expires_at,
        external_id=record.external_id,
        subjects=subjects,
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
    """Make a judged draft the next version; None when the record moved on meanwhile."""
    permit(owner_of(record), record.workspace_id, by)
    shelf.check(draft)
    with transaction.atomic():
        rows = Record.objects.select_for_update().filter(pk=record.pk)
        live = rows.filter(workspace_id=by.workspace_id).first()
        if live is None or live.status != RecordStatus.CURRENT:
            raise errors.NotFound
        if live.version != expected:
            return None
        people = chain.people_in(live, draft)
        live.version += 1
        _fill(live, draft, provenance or live.provenance)
        live.current_entry = chain.extend(
            live, RecordEvent.UPDATED, people, by=by, reason=reason
        )
        live.updated_at = live.current_entry.recorded_at
        live.save()
        chain.retire_old(live)
    return live


def _amended(record: Record, wanted: Amendment) -> Draft:
    """Return the draft of a record's next version."""
    new = wanted.content
    content = new(record.content) if callable(new) else new
    draft = draft_of(record, record.content if content is None else content)
    chosen = {
        name: value
        for name in ("metadata", "confidence", "kind")
        if (value := getattr(wanted, name)) is not None
    }
    if wanted.expires_at is not KEEP:
        chosen["expires_at"] = wanted.expires_at
    return replace(draft, subjects=wanted.subjects, **chosen)


def amend(
    record: Record,
    wanted: Amendment,
    *,
    provenance: str,
    expected: int | None = None,
    reason: str = "",
    by: Actor,
) -> Record:
    """Change a record; many at once each see what the one before left.

    With ``expected`` only that version is changed: Conflict ``stale_version``. A change
    of nothing makes no version.
    """
    for _ in range(TRIES):
        live = reach(None if not by.is_agent else owner_of(record), by=by)
        row = live.filter(pk=record.pk, status=RecordStatus.CURRENT).first()
        if row is None:
            raise errors.NotFound
        if expected is not None and row.version != expected:
            raise errors.Conflict(
                "The record changed since you read it.",
                code="stale_version",
                version=row.version,
            )
        draft = _amended(row, wanted)
        permit(draft.owner, row.workspace_id, by)
        shelf.check(draft)
        if _says(row, draft):
            return row
        draft = shelf.gate(draft, row.id, source=provenance, by=by)
        done = replace_content(
            row, draft, expected=row.version, provenance=provenance, reason=reason,
            by=by,
        )  # fmt: skip
        if done is not None:
            return done
    raise _busy()


def revise(
    record: Record,
    change: Callable[[str], str],
    *,
    provenance: str,
    subjects: tuple[str, ...] = (),
    by: Actor,
) -> Record:
    """Change a record's content by a function of what it holds."""
    wanted = Amendment(content=change, subjects=subjects)
    return amend(record, wanted, provenance=provenance, by=by)


# ── One for many ─────────────────────────────────────────────────────────────
def supersede(
    sources: Sequence[Record],
    draft: Draft,
    *,
    provenance: str,
    reason: str = "",
    by: Actor,
) -> Saved:
    """Save a record that takes the place of others; they stay, out of every answer."""
    if not sources:
        raise errors.Invalid("Name the records to supersede.", code="no_sources")
    for source in sources:
        permit(owner_of(source), source.workspace_id, by)
    judged = prepare(draft, provenance=provenance, by=by)
    with transaction.atomic():
        new = _new(judged, provenance, by)
        ids = sorted({source.id for source in sources})
        rows = Record.objects.select_for_update().filter(
            workspace_id=by.workspace_id, pk__in=ids, status=RecordStatus.CURRENT
        )
        live = list(rows.order_by("pk"))
        if len(live) != len(ids):
            raise errors.Conflict(
                "One of the records is not current any more.", code="not_current"
            )
        for row in live:
            _end(row, new.id, reason, by)
        _store(new, judged, by, reason)
        Record.objects.filter(pk__in=ids).update(superseded_by=new)
    return Saved(new, Action.CREATED, likeness.alike(new))


def _end(row: Record, by_id: str, reason: str, by: Actor) -> None:
    """Mark a record as superseded, in the chain and in its row."""
    row.version += 1
    row.status, row.updated_at = RecordStatus.SUPERSEDED, timezone.now()
    row.current_entry = chain.extend(
        row, RecordEvent.SUPERSEDED, by=by, reason=reason, superseded_by=by_id
    )
    row.save()
    chain.retire_old(row)

"""Rows of the table of records: create, fill, store with an entry, find by name."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from memory.models import Record, RecordStatus
from memory.records import chain
from memory.records.drafts import Draft, trace_of
from memory.rules import scopes
from memory.rules.permissions import Actor
from memory.stored_files.store import digest

# Crew id, agent id, scope key, external id: unique among current records.
Name = tuple[str | None, str | None, str, str]


# What a new version may change, beside the content; a row and a draft name it alike.
FACTS: Final = (
    "kind", "metadata", "confidence", "session_id", "turn_range", "expires_at"
)  # fmt: skip


def fill(record: Record, draft: Draft, provenance: str) -> None:
    """Copy a draft's fields to a row, except owner, scope and external id."""
    for name in FACTS:
        setattr(record, name, getattr(draft, name))
    record.content, record.sha256 = draft.content, digest(draft.content.encode())
    record.provenance = provenance


def new_row(draft: Draft, provenance: str, by: Actor) -> Record:
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
    fill(record, draft, provenance)
    return record


def store(
    records: Sequence[Record], drafts: Sequence[Draft], by: Actor, reason: str = ""
) -> None:
    """Store new rows with their entries, inside the caller's transaction.

    One append to the journal and one insert per table for all of them. The entries come
    first, so that a row is written once, complete. All have the same time; added
    microseconds keep their order in lists.
    """
    pairs = zip(records, drafts, strict=True)
    people = [chain.version_subjects(record, draft) for record, draft in pairs]
    traces = [trace_of(draft, by=by) for draft in drafts]
    entries = chain.begin(records, people, traces, by=by, reason=reason)
    for place, (record, entry) in enumerate(zip(records, entries, strict=True)):
        record.current_entry = entry
        moment = entry.recorded_at + timedelta(microseconds=place)
        record.created_at = record.updated_at = moment
    Record.objects.bulk_create(records)
    chain.link(records, entries)


# ── External ids ─────────────────────────────────────────────────────────────
def name_of(draft: Draft) -> Name:
    """Return the unique name that a draft's external id makes."""
    owner = draft.owner
    crew = owner.crew.id if owner else None
    return crew, owner.agent_id if owner else None, draft.scope.key, draft.external_id


def current_by_name(drafts: Sequence[Draft], by: Actor) -> dict[Name, Record]:
    """Return the current records of some drafts' external ids, expired or not."""
    records: dict[Name, Record] = {}
    groups: dict[tuple[str | None, str | None], list[Draft]] = {}
    for draft in drafts:
        if draft.external_id:
            groups.setdefault(name_of(draft)[:2], []).append(draft)
    for group in groups.values():
        records |= _current_of_owner(group, by)
    return records


def _current_of_owner(drafts: Sequence[Draft], by: Actor) -> dict[Name, Record]:
    """Return the current records that drafts of one owner name.

    The query uses the partial unique index on names, which has no empty ids: SQLite
    uses it only when the query excludes them too.
    """
    owner, names = drafts[0].owner, {name_of(draft) for draft in drafts}
    rows = Record.objects.filter(
        workspace_id=by.workspace_id,
        status=RecordStatus.CURRENT,
        crew=owner.crew if owner else None,
        agent=owner.agent if owner else None,
        scope_key__in={name[2] for name in names},
        external_id__in={name[3] for name in names},
    ).exclude(external_id="")
    records: dict[Name, Record] = {}
    for row in rows.order_by():
        row.crew, row.agent = (owner.crew, owner.agent) if owner else (None, None)
        name = row.crew_id, row.agent_id, row.scope_key or "", row.external_id
        if name in names:
            records[name] = row
    return records


def is_same(record: Record, draft: Draft) -> bool:
    """Whether a record already has all fields and subjects of a draft."""
    facts = ("content", "kind", "metadata", "confidence", "session_id", "expires_at")
    if any(getattr(record, name) != getattr(draft, name) for name in facts):
        return False
    subjects = set(draft.subjects) - {record.scope_user}
    return not subjects or subjects <= set(chain.subjects_of(record))

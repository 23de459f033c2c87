"""The journal entries of a record: one for each of its events.

The content of a version is its entry's text, its other fields are in the entry's refs:
erasing or redacting the entry erases or redacts the version. The link row has the time
span in which the version was current.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from memory.journal import append as journal
from memory.journal import visibility
from memory.models import JournalEntry, Record, RecordEntry, RecordEvent, SubjectMention
from memory.records.drafts import Draft, trace_of
from memory.rules.entries import SUBJECTS, NewEntry
from memory.rules.permissions import Actor

SUMMARY_CHARS: Final = 600
VERBS: Final = {
    RecordEvent.CREATED: "recorded",
    RecordEvent.UPDATED: "revised",
    RecordEvent.SUPERSEDED: "superseded",
    RecordEvent.INVALIDATED: "forgotten",
}
# The types of the entries that hold a record's content.
TYPES: Final = ("memory.recorded", "memory.revised")
CONTENT_EVENTS: Final = (RecordEvent.CREATED, RecordEvent.UPDATED)


def _refs(record: Record, **facts: Any) -> dict[str, Any]:
    return {
        "record_id": record.id,
        "version": record.version,
        "kind": record.kind,
        "provenance": record.provenance,
        **{key: value for key, value in facts.items() if value},
    }


def _content_entry(
    record: Record,
    verb: str,
    subjects: tuple[str, ...],
    trace_id: str | None,
    **extra: Any,
) -> NewEntry:
    """Return the entry of a version: the content, and the other fields in its refs."""
    short = record.content.strip()[:SUMMARY_CHARS]
    due = journal.stamp(record.expires_at) if record.expires_at else None
    facts = {"metadata": record.metadata, "expires_at": due, **extra}
    return NewEntry(
        entry_type=f"memory.{verb}",
        summary=short,
        payload={} if record.content == short else {"content": record.content},
        refs={
            **_refs(record, **facts),
            "confidence": record.confidence,
            "episodic": True,
        },
        crew_id=record.crew_id,
        agent_id=record.agent_id,
        trace_id=trace_id,
        subjects=subjects,
    )


def _end_entry(record: Record, verb: str, **extra: Any) -> NewEntry:
    """Return the entry of an end (superseded, forgotten), without the content.

    It has no trace: nothing was said in the conversation.
    """
    return NewEntry(
        entry_type=f"memory.{verb}",
        summary=f"A record was {verb} ({record.id})",
        refs=_refs(record, **extra),
        crew_id=record.crew_id,
        agent_id=record.agent_id,
    )


def subjects_of(record: Record) -> list[str]:
    """Return the subjects of a record, as its current entry names them."""
    rows = SubjectMention.objects.filter(
        workspace_id=record.workspace_id, entry_id=record.current_entry_id
    )
    return list(rows.order_by("id").values_list("alias", flat=True))


def version_subjects(record: Record, draft: Draft) -> tuple[str, ...]:
    """Return the subjects of a version: the draft's, the former, the scope's user."""
    previous = subjects_of(record) if record.current_entry_id else []
    user = [record.scope_user] if record.scope_user.strip() else []
    return tuple(dict.fromkeys([*draft.subjects, *user, *previous]))[:SUBJECTS]


def version_trace(record: Record, draft: Draft, *, by: Actor) -> str | None:
    """Return the trace id of a record's next version; ``record`` is the present one.

    Whoever revises it, it stays in its conversation, unless the draft names another.
    """
    entry = record.current_entry
    is_same_session = draft.session_id == record.session_id
    if draft.trace_id is None and is_same_session and entry and entry.trace_id:
        return entry.trace_id
    return trace_of(draft, by=by)


def extend(
    record: Record,
    event: RecordEvent,
    subjects: tuple[str, ...] = (),
    *,
    by: Actor,
    trace_id: str | None = None,
    **extra: Any,
) -> JournalEntry:
    """Append the entry of an event, and end the version before.

    Runs inside the caller's transaction, with the record's new values.
    """
    if event in CONTENT_EVENTS:
        new = _content_entry(record, VERBS[event], subjects, trace_id, **extra)
    else:
        new = _end_entry(record, VERBS[event], **extra)
    entry = journal.write([new], by=by)[0]
    links = RecordEntry.objects.filter(
        workspace_id=record.workspace_id, record=record, valid_to=None
    )
    links.update(valid_to=entry.ts)
    is_end = event in (RecordEvent.SUPERSEDED, RecordEvent.INVALIDATED)
    RecordEntry.objects.create(
        workspace_id=record.workspace_id,
        record=record,
        entry=entry,
        version=record.version,
        event=event,
        valid_from=entry.ts,
        valid_to=entry.ts if is_end else None,
    )
    return entry


def begin(
    records: Sequence[Record],
    people: Sequence[tuple[str, ...]],
    traces: Sequence[str | None],
    *,
    by: Actor,
    reason: str = "",
) -> list[JournalEntry]:
    """Append the first entries of new records: one append for all, in order.

    Runs inside the caller's transaction, before the rows are stored; ``link`` connects
    rows and entries afterwards.
    """
    verb = VERBS[RecordEvent.CREATED]
    new_entries = [
        _content_entry(record, verb, subjects, trace, reason=reason)
        for record, subjects, trace in zip(records, people, traces, strict=True)
    ]
    return journal.write(new_entries, by=by)


def link(records: Sequence[Record], entries: Sequence[JournalEntry]) -> None:
    """Connect new records with their first entries."""
    RecordEntry.objects.bulk_create(
        RecordEntry(
            workspace_id=record.workspace_id,
            record=record,
            entry=entry,
            version=record.version,
            event=RecordEvent.CREATED,
            valid_from=entry.ts,
        )
        for record, entry in zip(records, entries, strict=True)
    )


def content_entry_ids(workspace_id: str, records: Sequence[str]) -> list[str]:
    """Return the ids of the entries that hold content of some records."""
    rows = RecordEntry.objects.filter(
        workspace_id=workspace_id, record_id__in=records, entry__erased_at=None
    )
    rows = rows.filter(entry__entry_type__in=TYPES)
    return list(rows.values_list("entry_id", flat=True))


def retire_old(record: Record) -> None:
    """Retire the entries of every version but the current one."""
    ids = content_entry_ids(record.workspace_id, [record.id])
    if record.status == "current":
        ids = [entry_id for entry_id in ids if entry_id != record.current_entry_id]
    visibility.retire(record.workspace_id, ids)

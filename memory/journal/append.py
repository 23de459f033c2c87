"""The append-only record, hash-chained per workspace; the sole writer of entries.

Two processes that append to one workspace are serialised by the chain head: its row is
locked first (on SQLite the IMMEDIATE transaction is that lock), so the chain never
forks and no number is given twice. Everything that can fail is checked before.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from django.db import transaction
from django.dispatch import Signal
from django.utils import timezone

from memory import workspace_numbers
from memory.installation import identity as installation
from memory.installation import schema_version
from memory.journal import head as chain_head
from memory.journal.commit_groups import CommitGroups
from memory.measurements import recorded
from memory.models import (
    ChainHead,
    IdempotencyRecord,
    JournalEntry,
    PriorityChange,
    ids,
)
from memory.ports import ranker, subject_linker
from memory.rules import entries, errors, hashing, validation
from memory.rules.entries import NewEntry, Priority
from memory.rules.permissions import Actor

# Sent after the commit with workspace_id and embeddable (how many of the entries are to
# be embedded). The only notice that upper packages get of an append.
entry_appended = Signal()

Pair = tuple[JournalEntry, NewEntry]
BATCH: Final = 1_000
FOREIGN_END: Final = (
    "The end of this workspace's chain was not signed with this installation's journal"
    " key: nothing is appended to it. manage.py doctor says more."
)


@dataclass(frozen=True, slots=True)
class Rejected:
    """One entry of a batch that was not written, and why."""

    index: int
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result of a batch: (index, entry) pairs written, and those rejected."""

    accepted: list[tuple[int, JournalEntry]]
    rejected: list[Rejected]


def key() -> bytes:
    """Return the chain's key; raise NotReady when it is not the one on record."""
    return installation.key("journal")


def stamp(moment: datetime) -> str:
    """Return a moment as RFC 3339 UTC with milliseconds and Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")[:23] + "Z"


def content(entry: JournalEntry) -> bytes:
    """Return the canonical bytes that an entry's commitment covers."""
    return hashing.frame(
        [
            entry.workspace_id,
            str(entry.seq),
            entry.id,
            entry.crew_id,
            entry.agent_id,
            entry.mission_id,
            stamp(entry.ts),
            entry.entry_type,
            entry.severity,
            entry.priority_at_emit,
            entry.actor_type,
            entry.actor_id,
            entry.summary,
            entry.payload_text,
            entry.refs_text,
            entry.trace_id,
            entry.span_id,
            stamp(entry.expires_at) if entry.expires_at else "",
        ]
    )


def _row(new: NewEntry, by: Actor, now: datetime) -> JournalEntry:
    """Return an unsaved row; only its place in the chain is missing."""
    own = by.is_agent
    return JournalEntry(
        id=ids.entry(),
        workspace_id=by.workspace_id,
        ts=entries.round_ms((new.ts or now).astimezone(UTC)),
        recorded_at=now,
        entry_type=new.entry_type,
        severity=new.severity.value,
        priority=Priority.NORMAL.value,
        priority_at_emit=Priority.NORMAL.value,
        actor_type="agent" if new.as_agent else by.type,
        actor_id=new.agent_id if new.as_agent and new.agent_id else by.id,
        crew_id=by.crew_id if own else new.crew_id,
        agent_id=by.id if own else new.agent_id,
        mission_id=new.mission_id,
        trace_id=new.trace_id,
        span_id=new.span_id,
        summary=new.summary,
        payload_text=entries.canonical(new.payload),
        refs_text=entries.canonical(new.refs),
        body=entries.body_of(new.entry_type, new.payload),
        embeddable=ranker.ranker().is_embeddable(
            new.entry_type, new.severity.value, new.payload, new.refs
        ),
    )


def _chain(rows: Sequence[JournalEntry], head: ChainHead, number: int) -> None:
    """Give each row its number, salt and hash, and move the head behind the last.

    Raises NotReady when the head was signed with another key: an append by a process
    with another data folder would break the chain for good.
    """
    secret = key()
    signed = hashing.head_mac(secret, head.workspace_id, head.seq, head.entry_hash)
    if head.seq and head.mac != signed:
        raise installation.NotReady(reason=FOREIGN_END)
    for row in rows:
        head.seq += 1
        row.seq = head.seq
        row.docid = (number << entries.SEQ_BITS) + head.seq
        row.salt = salt = secrets.token_bytes(hashing.SALT_BYTES)
        row.prev_hash = head.entry_hash
        row.commitment = hashing.commitment(salt, content(row))
        row.entry_hash = hashing.link(secret, head.entry_hash, row.commitment)
        head.entry_hash = row.entry_hash
    head.mac = hashing.head_mac(secret, head.workspace_id, head.seq, head.entry_hash)


def _admitted(
    new: NewEntry, now: datetime, by: Actor, gate: subject_linker.Gate | None
) -> JournalEntry:
    """Return an entry's row; raise for an entry that may not enter the journal."""
    validation.check(new, now)
    row = _row(new, by, now)
    if gate is not None:
        gate(subject_linker.entry_texts(row), new.subjects)
    return row


def write(new_entries: Sequence[NewEntry], *, by: Actor) -> list[JournalEntry]:
    """Append checked entries in one transaction, in order, and return the rows.

    For services that record their own action: the caller has checked the permission.
    """
    now, gate = timezone.now(), subject_linker.gate(by.workspace_id)
    rows = [_admitted(new, now, by, gate) for new in new_entries]
    _write_admitted(rows, new_entries)
    return rows


def _write_admitted(
    rows: Sequence[JournalEntry], new_entries: Sequence[NewEntry]
) -> None:
    schema_version.guard()
    if rows:
        installation.require()
        with transaction.atomic():
            _insert(list(zip(rows, new_entries, strict=True)))


def _insert(pairs: Sequence[Pair], head: ChainHead | None = None) -> None:
    """Chain and insert the rows of one workspace, inside a transaction."""
    rows, new_entries = zip(*pairs, strict=True)
    workspace_id = rows[0].workspace_id
    head = head or chain_head.locked(workspace_id)
    _chain(rows, head, workspace_numbers.of(workspace_id))
    chain_head.insert(rows)
    chain_head.move(head)
    chain_head.insert_mentions(rows, new_entries)
    texts = subject_linker.entries_of(rows, new_entries)
    subject_linker.note(workspace_id, "journal", texts)
    embeddable = sum(row.embeddable for row in rows)
    notice: dict[str, Any] = {"workspace_id": workspace_id, "embeddable": embeddable}
    transaction.on_commit(partial(entry_appended.send, JournalEntry, **notice))


def _insert_group(items: Sequence[Pair], head: ChainHead | None) -> None:
    """Insert the entries of a queue: with a head they are of its workspace alone."""
    by_workspace: dict[str, list[Pair]] = {}
    for row, new in items:
        by_workspace.setdefault(row.workspace_id, []).append((row, new))
    for pairs in by_workspace.values():
        _insert(pairs, head)


_groups = CommitGroups(_insert_group, chain_head.turn)


@recorded.append_measured("single")
def append(new: NewEntry, *, by: Actor) -> JournalEntry:
    """Append one entry for an agent; it is committed when this returns.

    Those that wait for their turn at the same time are committed together.
    """
    by.require("journal.append")
    validation.check_offered(new)
    if transaction.get_connection().in_atomic_block:
        return write([new], by=by)[0]
    now = timezone.now()
    row = _admitted(new, now, by, subject_linker.gate(by.workspace_id))
    schema_version.guard()
    installation.require()
    if not _groups.commit((row, new), chain_head.queue(by.workspace_id)):
        with transaction.atomic():
            head = chain_head.locked(by.workspace_id)
            # Of a commit whose answer was lost nobody else knows that it was done.
            if not JournalEntry.objects.filter(pk=row.pk).exists():
                _insert([(row, new)], head)
    return row


@recorded.append_measured("batch")
def append_batch(items: Sequence[NewEntry | Rejected], *, by: Actor) -> BatchResult:
    """Append many entries in one transaction; bad ones are reported, not fatal.

    An item that the caller could not parse is passed as Rejected and stays rejected.
    """
    by.require("journal.append")
    now, gate = timezone.now(), subject_linker.gate(by.workspace_id)
    accepted, rejected = list[tuple[int, JournalEntry]](), list[Rejected]()
    admitted = list[NewEntry]()
    for index, item in enumerate(items):
        if isinstance(item, Rejected):
            rejected.append(item)
            continue
        try:
            validation.check_offered(item)
            accepted.append((index, _admitted(item, now, by, gate)))
            admitted.append(item)
        except errors.AppError as error:
            rejected.append(Rejected(index, error.problem_code, error.detail))
    _write_admitted([row for _, row in accepted], admitted)
    return BatchResult(accepted, rejected)


def once(
    idempotency_key: str,
    body: object,
    act: Callable[[], dict[str, Any]],
    *,
    by: Actor,
) -> dict[str, Any]:
    """Run ``act`` once per key and actor; a repeat gets the stored answer.

    The record and the action commit together. The same key with another body raises
    Conflict ``idempotency_mismatch``.
    """
    digest = hashing.keyed_digest(key(), idempotency_key)
    body_digest = hashing.keyed_digest(key(), entries.canonical(body))
    with transaction.atomic():
        # The head's lock makes two simultaneous repeats wait for each other.
        chain_head.locked(by.workspace_id)
        record = IdempotencyRecord.objects.filter(
            workspace_id=by.workspace_id, actor_id=by.id, key_digest=digest
        ).first()
        if record is None:
            answer = act()
            IdempotencyRecord.objects.create(
                workspace_id=by.workspace_id,
                actor_id=by.id,
                key_digest=digest,
                body_digest=body_digest,
                answer=answer,
            )
            return answer
    if record.body_digest != body_digest:
        detail = "This Idempotency-Key was used with another body."
        raise errors.Conflict(detail, code="idempotency_mismatch")
    return dict(record.answer)


def prioritise(
    entry: JournalEntry, priority: Priority, reason: str, *, by: Actor
) -> PriorityChange:
    """Set an entry's priority, with ledger row and chained entry in one transaction.

    The previous value is read inside the transaction, so that of two simultaneous
    changes each ledger row starts where the last one ended. Setting the present value
    changes nothing and writes nothing.
    """
    by.require("journal.prioritise", entry.workspace_id)
    if len(reason) > entries.SUMMARY_BYTES or not entries.is_storable(reason):
        raise errors.Invalid("reason is too long or not text.", code="bad_reason")
    with transaction.atomic():
        chain_head.locked(entry.workspace_id)
        live = JournalEntry.objects.select_for_update().get(pk=entry.pk)
        if live.priority == priority.value:
            return PriorityChange(
                previous=live.priority, priority=live.priority, reason=reason
            )
        number = PriorityChange.objects.filter(entry=live).count() + 1
        change = PriorityChange.objects.create(
            workspace_id=live.workspace_id,
            entry=live,
            number=number,
            previous=live.priority,
            priority=priority.value,
            reason=reason,
            set_by=by.label,
        )
        JournalEntry.objects.filter(pk=live.pk).update(priority=priority.value)
        write([_priority_entry(live, change)], by=by)
    entry.priority = priority.value
    return change


def _priority_entry(live: JournalEntry, change: PriorityChange) -> NewEntry:
    """Return the chained entry of a ledger row; a forged ledger row has none."""
    return NewEntry(
        entry_type="memory.priority_changed",
        severity=entries.Severity.NOTICE,
        summary=f"Priority of {live.id} set to {change.priority}, "
        f"was {change.previous}",
        payload={
            "target_entry_id": live.id,
            "target_entry_type": live.entry_type,
            "previous_priority": change.previous,
            "new_priority": change.priority,
            "number": change.number,
            "reason": change.reason,
        },
        refs={"entry_id": live.id},
        crew_id=live.crew_id,
    )

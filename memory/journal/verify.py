"""Verify a workspace's chain: what is missing, changed, or erased on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from memory.journal import append as journal
from memory.journal import chain_scan, integrity
from memory.models import (
    ChainCheckpoint,
    ChainHead,
    JournalEntry,
    PriorityChange,
    Workspace,
)
from memory.rules import entries, hashing
from memory.rules.permissions import Actor

MAX_BREAKS: Final = 100
SEALED_CHUNK: Final = 500
_BROKEN: Final = "It does not follow the entry before it."
_UNMADE: Final = "Its hash does not reproduce."
_NO_END: Final = 2**62


@dataclass(frozen=True, slots=True)
class Break:
    """One place where the chain does not hold.

    ``kind`` is gap, broken_link, content_break, priority_break or tail_missing.
    """

    kind: str
    seq: int
    entry_id: str | None
    reason: str


@dataclass(slots=True)
class Report:
    """The result of a verification; ``breaks`` holds the first hundred of all.

    ``unproved`` counts entries that were chained with a lost key: unchanged since the
    adoption of the new key, unprovable before it.
    """

    checked_at: datetime
    count: int = 0
    erased: int = 0
    redacted: int = 0
    checkpoints: int = 0
    unproved: int = 0
    break_count: int = 0
    breaks: list[Break] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Nothing is broken."""
        return self.break_count == 0

    def note(self, kind: str, seq: int, entry_id: str | None, reason: str) -> None:
        """Record a break."""
        self.break_count += 1
        if len(self.breaks) < MAX_BREAKS:
            self.breaks.append(Break(kind, seq, entry_id, reason))


Watch = Callable[[Iterable[JournalEntry], int], Iterable[JournalEntry]]


def _unwatched(rows: Iterable[JournalEntry], _total: int) -> Iterable[JournalEntry]:
    return rows


def _removed_hashes(workspace_id: str, report: Report) -> dict[int, str]:
    """Return seq → hash of the compacted entries, from the checkpoints that verify."""
    removed_hashes: dict[int, str] = {}
    for point in ChainCheckpoint.objects.filter(workspace_id=workspace_id):
        covered = integrity.signed(point)
        if covered:
            removed_hashes.update(covered)
            report.checkpoints += 1
    return removed_hashes


def _rows(workspace_id: str, end: int) -> QuerySet[JournalEntry]:
    """Return the entries to verify: those up to the head at the start."""
    rows = JournalEntry.objects.filter(workspace_id=workspace_id)
    return (rows.filter(seq__lte=end) if end else rows).order_by("seq")


def _bridge(
    report: Report, removed_hashes: dict[int, str], at: int, prev: str, until: int
) -> str:
    """Skip missing numbers; return the hash that the next entry must follow."""
    for seq in range(at, until):
        if seq in removed_hashes:
            prev = removed_hashes[seq]
        else:
            report.note("gap", seq, None, "The entry is missing and nothing says why.")
            return ""
    return prev


def _check_entry(
    report: Report, row: JournalEntry, prev: str | None, adopted_seq: int
) -> None:
    if prev is not None and row.prev_hash != prev:
        report.note("broken_link", row.seq, row.id, _BROKEN)
    report.unproved += row.seq <= adopted_seq
    if not integrity.is_linked(row, adopted_seq):
        report.note("broken_link", row.seq, row.id, _UNMADE)
    _check_content(report, row)


def _check_content(report: Report, row: JournalEntry) -> None:
    if row.salt is None and row.redacted_at is None:
        report.erased += 1
    elif row.salt is None:
        report.redacted += 1
    fault = integrity.content_fault(row)
    if fault is not None:
        report.note("content_break", row.seq, row.id, fault)


def _check_place(report: Report, row: JournalEntry, number: int) -> None:
    """Check the row number in the word index, which contains the workspace's number."""
    if row.docid != (number << entries.SEQ_BITS) + row.seq:
        reason = "Its number in the word index was changed."
        report.note("content_break", row.seq, row.id, reason)


def _priority_steps(
    workspace_id: str, entry_id: str | None = None
) -> dict[str, list[PriorityChange]]:
    steps: dict[str, list[PriorityChange]] = {}
    changes = PriorityChange.objects.filter(workspace_id=workspace_id)
    if entry_id is not None:
        changes = changes.filter(entry_id=entry_id)
    for change in changes.order_by("entry_id", "number"):
        steps.setdefault(change.entry_id, []).append(change)
    return steps


def _witnesses(workspace_id: str) -> set[tuple[str, int, str]]:
    """Return (entry, number, priority) of every chained record of a change."""
    rows = JournalEntry.objects.filter(
        workspace_id=workspace_id,
        entry_type="memory.priority_changed",
        erased_at__isnull=True,
    )
    witnesses = set()
    for row in rows.iterator():
        if row.salt is None and integrity.content_fault(row) is not None:
            continue  # redacted without a valid seal: reported as a content break
        try:
            payload = row.payload
            number = int(payload.get("number") or 0)
        except (ValueError, TypeError):
            continue  # tampered with: reported as a content break
        target, priority = payload.get("target_entry_id"), payload.get("new_priority")
        witnesses.add((str(target), number, str(priority)))
    return witnesses


def _explains(row: JournalEntry, steps: list[PriorityChange]) -> bool:
    current = row.priority_at_emit
    for step in steps:
        if step.previous != current:
            return False
        current = step.priority
    return current == row.priority


def _priority_fault(
    row: JournalEntry,
    steps: list[PriorityChange],
    witnesses: set[tuple[str, int, str]],
) -> str | None:
    if not _explains(row, steps):
        return "Its priority is not in the ledger."
    for step in steps:
        if (row.id, step.number, step.priority) not in witnesses:
            return "A ledger row has no entry in the journal."
    return None


def _check_priority(
    report: Report,
    row: JournalEntry,
    steps: list[PriorityChange],
    witnesses: set[tuple[str, int, str]],
) -> None:
    """Check a priority; one that was set meanwhile is read again in a transaction."""
    fault = _priority_fault(row, steps, witnesses)
    if fault is None:
        return
    with transaction.atomic():
        live = JournalEntry.objects.filter(pk=row.pk).first() or row
        now = _priority_steps(row.workspace_id, row.id).get(row.id, [])
        fault = _priority_fault(live, now, _witnesses(row.workspace_id))
    if fault is not None:
        report.note("priority_break", row.seq, row.id, fault)


def _check_tail(
    report: Report,
    head: ChainHead | None,
    seq: int,
    prev: str,
    removed_hashes: dict[int, str],
) -> None:
    if head is None:
        if seq:
            report.note("tail_missing", seq, None, "The chain has no signed end.")
        return
    signed = hashing.head_mac(
        journal.key(), head.workspace_id, head.seq, head.entry_hash
    )
    if head.seq and signed != head.mac:
        report.note("tail_missing", head.seq, None, "The signed end was changed.")
        return
    end = _bridge(report, removed_hashes, seq + 1, prev, head.seq + 1)
    if end and head.entry_hash != end:
        report.note("tail_missing", head.seq, None, "The chain ends somewhere else.")


def verify(workspace_id: str, *, by: Actor, watch: Watch = _unwatched) -> Report:
    """Verify the whole chain of a workspace and report every break.

    ``watch`` wraps the rows with a progress display and gets their number. Appends go
    on meanwhile: entries after the head at the start are not checked.
    """
    by.require("journal.verify", workspace_id)
    report = Report(checked_at=timezone.now())
    head = ChainHead.objects.filter(pk=workspace_id).first()
    numbers = Workspace.objects.filter(pk=workspace_id).values_list("number", flat=True)
    number = numbers.first() or 0
    rows = _rows(workspace_id, _end(head))
    removed_hashes = _removed_hashes(workspace_id, report)
    steps, witnesses = _priority_steps(workspace_id), _witnesses(workspace_id)
    seq, prev, adopted_seq = 0, "", integrity.adopted_until(workspace_id)
    for row in watch(rows.iterator(chunk_size=1_000), rows.count()):
        if row.seq > seq + 1:
            prev = _bridge(report, removed_hashes, seq + 1, prev, row.seq)
        # After an unexplained gap there is no hash to compare with.
        expected = prev if prev or row.seq == 1 else None
        _check_entry(report, row, expected, adopted_seq)
        _check_place(report, row, number)
        _check_priority(report, row, steps.get(row.id, []), witnesses)
        report.count += 1
        seq, prev = row.seq, row.entry_hash
    _check_tail(report, head, seq, prev, removed_hashes)
    return report


def verify_links(workspace_id: str, *, by: Actor) -> Report:
    """Verify every link, and the content of erased and redacted entries only.

    For use after an erasure: contents of other entries are not read, which makes this
    many times as fast as ``verify``.
    """
    by.require("journal.verify", workspace_id)
    report = Report(checked_at=timezone.now())
    head = ChainHead.objects.filter(pk=workspace_id).first()
    end = _end(head)
    removed_hashes = _removed_hashes(workspace_id, report)
    seq, prev = _verify_adopted(report, workspace_id, removed_hashes)
    while True:
        run = chain_scan.unbroken_run(workspace_id, seq, prev, end or _NO_END)
        if run is not None:
            report.count += run.length
            _check_sealed(report, run.sealed)
            seq, prev = run.seq, run.entry_hash
            continue
        chunk = chain_scan.next_links(workspace_id, seq, end or _NO_END)
        if not chunk:
            break
        for link in chunk:
            if link.seq > seq + 1:
                prev = _bridge(report, removed_hashes, seq + 1, prev, link.seq)
            _check_link(report, link, prev if prev or link.seq == 1 else None)
            report.count += 1
            seq, prev = link.seq, link.entry_hash
        _check_sealed(report, [link.id for link in chunk if link.is_sealed])
    _check_tail(report, head, seq, prev, removed_hashes)
    return report


def _verify_adopted(
    report: Report, workspace_id: str, removed_hashes: dict[int, str]
) -> tuple[int, str]:
    """Verify the entries chained with a lost key one by one; return number and hash."""
    seq, prev, adopted_seq = 0, "", integrity.adopted_until(workspace_id)
    if not adopted_seq:
        return seq, prev
    for row in _rows(workspace_id, adopted_seq).iterator(chunk_size=1_000):
        if row.seq > seq + 1:
            prev = _bridge(report, removed_hashes, seq + 1, prev, row.seq)
        _check_entry(report, row, prev if prev or row.seq == 1 else None, adopted_seq)
        report.count += 1
        seq, prev = row.seq, row.entry_hash
    return adopted_seq, _bridge(report, removed_hashes, seq + 1, prev, adopted_seq + 1)


def _check_link(report: Report, link: chain_scan.Link, prev: str | None) -> None:
    if prev is not None and link.prev_hash != prev:
        report.note("broken_link", link.seq, link.id, _BROKEN)
    if not integrity.is_linked(link):
        report.note("broken_link", link.seq, link.id, _UNMADE)


def _check_sealed(report: Report, ids: list[str]) -> None:
    """Verify erased and redacted entries, a few hundred per query."""
    for start in range(0, len(ids), SEALED_CHUNK):
        part = ids[start : start + SEALED_CHUNK]
        for row in JournalEntry.objects.filter(pk__in=part).order_by("seq"):
            _check_content(report, row)


def _end(head: ChainHead | None) -> int:
    """Return the last number to verify; 0, no limit, without a validly signed head."""
    if head is None:
        return 0
    key = journal.key()
    signed = hashing.head_mac(key, head.workspace_id, head.seq, head.entry_hash)
    return head.seq if signed == head.mac else 0

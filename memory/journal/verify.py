"""Verify a workspace's chain: what is missing, changed, or erased on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from django.db import transaction
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
from memory.rules.translation import gettext_noop

MAX_BREAKS: Final = 100
SEALED_CHUNK: Final = 500
_BROKEN: Final = gettext_noop("It does not follow the entry before it.")
_UNMADE: Final = gettext_noop("Its hash does not reproduce.")
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


class _Walk:
    """A walk along a chain: the entry last checked, and what was found so far.

    ``prev`` is the hash that the next entry must follow; it is empty at the start, and
    after a gap that nothing explains. ``end`` is the last number to verify: 0, no
    limit, without a validly signed head.
    """

    def __init__(self, workspace_id: str) -> None:
        self.report = Report(checked_at=timezone.now())
        self.head = ChainHead.objects.filter(pk=workspace_id).first()
        is_signed = self.head is not None and _is_signed(self.head)
        self.end = self.head.seq if self.head and is_signed else 0
        # Seq → hash of the compacted entries, from the checkpoints that verify.
        self.removed_hashes: dict[int, str] = {}
        for point in ChainCheckpoint.objects.filter(workspace_id=workspace_id):
            covered = integrity.signed(point)
            self.removed_hashes |= covered
            self.report.checkpoints += bool(covered)
        self.adopted_seq = integrity.adopted_until(workspace_id)
        self.rows = JournalEntry.objects.filter(workspace_id=workspace_id)
        self.seq, self.prev = 0, ""

    def skip_to(self, seq: int) -> None:
        """Pass the missing numbers before ``seq``; report one that nothing explains."""
        for number in range(self.seq + 1, seq):
            self.prev = self.removed_hashes.get(number, "")
            if number not in self.removed_hashes:
                reason = gettext_noop("The entry is missing and nothing says why.")
                self.report.note("gap", number, None, reason)
                break

    def step(self, link: JournalEntry | chain_scan.Link) -> None:
        """Check that an entry follows the one before, and go on to it."""
        report = self.report
        self.skip_to(link.seq)
        if (self.prev or link.seq == 1) and link.prev_hash != self.prev:
            report.note("broken_link", link.seq, link.id, _BROKEN)
        if not integrity.is_linked(link, self.adopted_seq):
            report.note("broken_link", link.seq, link.id, _UNMADE)
        report.unproved += link.seq <= self.adopted_seq
        report.count += 1
        self.seq, self.prev = link.seq, link.entry_hash

    def check_content(self, row: JournalEntry) -> None:
        if row.salt is None and row.redacted_at is None:
            self.report.erased += 1
        elif row.salt is None:
            self.report.redacted += 1
        fault = integrity.content_fault(row)
        if fault is not None:
            self.report.note("content_break", row.seq, row.id, fault)

    def check_sealed(self, ids: list[str]) -> None:
        """Verify erased and redacted entries, a few hundred per query."""
        for start in range(0, len(ids), SEALED_CHUNK):
            part = ids[start : start + SEALED_CHUNK]
            for row in JournalEntry.objects.filter(pk__in=part).order_by("seq"):
                self.check_content(row)

    def check_tail(self) -> None:
        """Check that the chain ends where its signed head says."""
        head, note = self.head, self.report.note
        if head is None:
            if self.seq:
                note(
                    "tail_missing",
                    self.seq,
                    None,
                    gettext_noop("The chain has no signed end."),
                )
        elif head.seq and not _is_signed(head):
            note(
                "tail_missing",
                head.seq,
                None,
                gettext_noop("The signed end was changed."),
            )
        else:
            self.skip_to(head.seq + 1)
            if self.prev and head.entry_hash != self.prev:
                reason = gettext_noop("The chain ends somewhere else.")
                note("tail_missing", head.seq, None, reason)


def _is_signed(head: ChainHead) -> bool:
    key = journal.key()
    mac = hashing.head_mac(key, head.workspace_id, head.seq, head.entry_hash)
    return mac == head.mac


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


def _priority_fault(
    row: JournalEntry,
    steps: list[PriorityChange],
    witnesses: set[tuple[str, int, str]],
) -> str | None:
    # Each step starts where the one before it ended, and the last ends where it is now.
    reached = [row.priority_at_emit, *(step.priority for step in steps)]
    if reached != [*(step.previous for step in steps), row.priority]:
        return gettext_noop("Its priority is not in the ledger.")
    for step in steps:
        if (row.id, step.number, step.priority) not in witnesses:
            return gettext_noop("A ledger row has no entry in the journal.")
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


def verify(workspace_id: str, *, by: Actor, watch: Watch = _unwatched) -> Report:
    """Verify the whole chain of a workspace and report every break.

    ``watch`` wraps the rows with a progress display and gets their number. Appends go
    on meanwhile: entries after the head at the start are not checked.
    """
    by.require("journal.verify", workspace_id)
    walk = _Walk(workspace_id)
    numbers = Workspace.objects.filter(pk=workspace_id).values_list("number", flat=True)
    number = numbers.first() or 0
    steps, witnesses = _priority_steps(workspace_id), _witnesses(workspace_id)
    rows = walk.rows.filter(seq__lte=walk.end) if walk.end else walk.rows
    iterator = rows.order_by("seq").iterator(chunk_size=1_000)
    for row in watch(iterator, rows.count()):
        walk.step(row)
        walk.check_content(row)
        # The row number in the word index contains the workspace's number.
        if row.docid != (number << entries.SEQ_BITS) + row.seq:
            reason = gettext_noop("Its number in the word index was changed.")
            walk.report.note("content_break", row.seq, row.id, reason)
        _check_priority(walk.report, row, steps.get(row.id, []), witnesses)
    walk.check_tail()
    return walk.report


def verify_links(workspace_id: str, *, by: Actor) -> Report:
    """Verify every link, and the content of erased and redacted entries only.

    For use after an erasure: contents of other entries are not read, which makes this
    many times as fast as ``verify``. Those chained with a lost key are all read.
    """
    by.require("journal.verify", workspace_id)
    walk = _Walk(workspace_id)
    end = walk.end or _NO_END
    if walk.adopted_seq:
        rows = walk.rows.filter(seq__lte=walk.adopted_seq).order_by("seq")
        for row in rows.iterator(chunk_size=1_000):
            walk.step(row)
            walk.check_content(row)
        walk.skip_to(walk.adopted_seq + 1)
        walk.seq = walk.adopted_seq
    while True:
        run = chain_scan.unbroken_run(workspace_id, walk.seq, walk.prev, end)
        if run is not None:
            walk.report.count += run.length
            walk.seq, walk.prev = run.seq, run.entry_hash
            walk.check_sealed(run.sealed)
            continue
        chunk = chain_scan.next_links(workspace_id, walk.seq, end)
        if not chunk:
            break
        for link in chunk:
            walk.step(link)
        walk.check_sealed([link.id for link in chunk if link.is_sealed])
    walk.check_tail()
    return walk.report


def head_holds(head: ChainHead) -> bool:
    """Whether a head has our signature and matches the last entry; reads no chain."""
    if head.seq == 0:
        return True
    if not _is_signed(head):
        return False
    rows = JournalEntry.objects.filter(workspace_id=head.workspace_id)
    last = rows.order_by("-seq").values_list("seq", "entry_hash").first()
    # A compacted tail is for a walk of the chain to judge.
    return last is None or last[0] != head.seq or last[1] == head.entry_hash

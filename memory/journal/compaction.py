"""Compaction: move old, frequent, unimportant entries from the journal to the archive.

Eligible: five frequent types, severity info and notice, never prioritised, whole UTC
days older than the limit, ten or more in a bucket (crew, day, type). A bucket is one
transaction under the chain head's lock: archive, sign a checkpoint, delete, write one
summary, compare the counts; a difference rolls it back. A bucket with a tampered entry
is evidence: it is left unchanged and reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Any, Final

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, QuerySet
from django.db.models.functions import TruncDate
from django.utils import timezone

from memory.jobs import time_box
from memory.journal import append as journal
from memory.journal import integrity
from memory.models import (
    ArchivedEntry,
    ChainCheckpoint,
    ChainHead,
    JournalEntry,
    PriorityChange,
    SubjectMention,
)
from memory.ports import legal_holds
from memory.rules import entries, errors, hashing
from memory.rules.entries import NewEntry, Priority, Severity
from memory.rules.permissions import system

TYPES: Final = (
    "exec.output_chunk",
    "container.metrics",
    "network.port_opened",
    "network.port_closed",
    "llm.call",
)
SEVERITIES: Final = (Severity.INFO.value, Severity.NOTICE.value)
DAYS: Final = 30
MIN_ENTRIES: Final = 10
CHUNK: Final = 500
SUMMARY_CHARS: Final = 200
PAYLOAD_CHARS: Final = 400
COPIED_COLUMNS: Final = (
    "id", "workspace_id", "seq", "ts", "recorded_at", "entry_type", "severity",
    "priority", "actor_type", "actor_id", "crew_id", "agent_id", "mission_id",
    "trace_id", "span_id", "expires_at", "commitment", "prev_hash", "entry_hash",
)  # fmt: skip


class RowsLost(errors.AppError):
    """The numbers of archived and deleted rows differ; the bucket was rolled back."""

    code, status, title = "rows_lost", 500, "Rows would have been lost"
    sentence = (
        "Compaction stopped: of {wanted} rows {archived} were archived"
        " and {deleted} deleted; that bucket was taken back."
    )


class TamperedEntry(Exception):
    """A bucket holds an entry that fails verification; the message names it."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """The entries that one summary replaces: one crew, one type, one UTC day."""

    crew_id: str | None
    day: date
    entry_type: str
    count: int


@dataclass(slots=True)
class Report:
    """The result of a run; ``refused`` names the buckets that were left unchanged."""

    buckets: int = 0
    archived: int = 0
    bytes: int = 0
    refused: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Removal:
    """The sums of one bucket while it is archived and deleted."""

    pairs: list[tuple[int, str]] = field(default_factory=list)
    bytes: int = 0
    deleted: int = 0
    times: list[datetime] = field(default_factory=list)


# ── Restriction ──────────────────────────────────────────────────────────────
def restrict(workspace_id: str, entry_ids: Sequence[str]) -> int:
    """Keep archived entries out of every list until ``lift``; return how many."""
    rows = ArchivedEntry.objects.filter(workspace_id=workspace_id, restricted_at=None)
    return rows.filter(pk__in=entry_ids).update(restricted_at=timezone.now())


def lift(workspace_id: str, entry_ids: Sequence[str]) -> int:
    """Let archived entries be listed again; return how many."""
    rows = ArchivedEntry.objects.filter(workspace_id=workspace_id, pk__in=entry_ids)
    return rows.exclude(restricted_at=None).update(restricted_at=None)


# ── Selection ────────────────────────────────────────────────────────────────
def cutoff(days: int, at: datetime) -> datetime:
    """Return the UTC midnight before which entries are old enough; days stay whole."""
    moment = at.astimezone(UTC) - timedelta(days=days)
    return datetime.combine(moment.date(), time.min, UTC)


def _eligible(workspace_id: str, before: datetime) -> QuerySet[JournalEntry]:
    """Return the eligible entries; none that ever had another priority."""
    normal = Priority.NORMAL.value
    rows = JournalEntry.objects.filter(
        workspace_id=workspace_id,
        entry_type__in=TYPES,
        severity__in=SEVERITIES,
        priority=normal,
        priority_at_emit=normal,
        ts__lt=before,
        erased_at__isnull=True,
        # The archive shortens texts, and restricted data must stay unchanged.
        restricted_at__isnull=True,
    )
    return rows.exclude(Exists(PriorityChange.objects.filter(entry=OuterRef("pk"))))


def plan(
    workspace_id: str, *, days: int = DAYS, at: datetime | None = None
) -> list[Bucket]:
    """Return the buckets that are large enough to be compacted, the oldest first."""
    rows = _eligible(workspace_id, cutoff(days, at or timezone.now())).order_by()
    groups = (
        rows.annotate(day=TruncDate("ts", tzinfo=UTC))
        .values("crew_id", "day", "entry_type")
        .annotate(count=Count("pk"))
        .filter(count__gte=MIN_ENTRIES)
        .order_by("day", "crew_id", "entry_type")
    )
    return [Bucket(**row) for row in groups]


# ── Verification ─────────────────────────────────────────────────────────────
Signed = Callable[[int], dict[int, str]]


def _hashes_before(
    workspace_id: str, rows: Sequence[JournalEntry], signed: Signed
) -> dict[int, str]:
    """Return seq → hash for the entries before some rows, as far as known.

    They are live, or were archived: then ``signed`` returns the hashes of a checkpoint.
    """
    before = {"workspace_id": workspace_id, "seq__in": [row.seq - 1 for row in rows]}
    live = JournalEntry.objects.filter(**before).values_list("seq", "entry_hash")
    hashes: dict[int, str] = {0: "", **dict(live)}
    archived = ArchivedEntry.objects.filter(**before).exclude(checkpoint=None)
    for seq, point_id in archived.values_list("seq", "checkpoint_id"):
        covered = signed(point_id)
        if seq in covered:
            hashes.setdefault(seq, covered[seq])
    return hashes


def _check(rows: Sequence[JournalEntry], before: dict[int, str]) -> None:
    """Raise TamperedEntry for an entry whose content or link does not verify."""
    adopted_seq = integrity.adopted_until(rows[0].workspace_id) if rows else 0
    for row in rows:
        fault = integrity.content_fault(row)
        if not integrity.is_linked(row, adopted_seq):
            fault = "its hash does not reproduce"
        elif before.get(row.seq - 1) != row.prev_hash:
            fault = "it does not follow the entry before it"
        if fault is not None:
            raise TamperedEntry(f"{row.id}: {fault.rstrip('.').lower()}")


# ── Archiving ────────────────────────────────────────────────────────────────
def cut_payload(text: str) -> str:
    """Return a payload's JSON text in 400 characters, still a JSON object."""
    if len(text) <= PAYLOAD_CHARS:
        return text
    keep = PAYLOAD_CHARS - len('{"cut":""}')
    while True:
        shortened = entries.canonical({"cut": text[:keep]})
        if len(shortened) <= PAYLOAD_CHARS:
            return shortened
        keep -= len(shortened) - PAYLOAD_CHARS


def size(row: JournalEntry) -> int:
    return sum(len(t.encode()) for t in (row.summary, row.payload_text, row.refs_text))


def _subject_lines(rows: Sequence[JournalEntry]) -> dict[str, str]:
    """Return entry id → folded aliases, one per line, as the archive stores them."""
    aliases: dict[str, list[str]] = {}
    mentions = SubjectMention.objects.filter(entry_id__in=[row.id for row in rows])
    for entry_id, folded in mentions.order_by("folded").values_list(
        "entry_id", "folded"
    ):
        aliases.setdefault(entry_id, []).append(folded)
    return {entry_id: "\n" + "\n".join(f) + "\n" for entry_id, f in aliases.items()}


def _archived(
    rows: Sequence[JournalEntry], point: ChainCheckpoint, now: datetime
) -> list[ArchivedEntry]:
    subjects = _subject_lines(rows)
    return [
        ArchivedEntry(
            **{name: getattr(row, name) for name in COPIED_COLUMNS},
            checkpoint=point,
            archived_at=now,
            summary=row.summary[:SUMMARY_CHARS],
            payload_text=cut_payload(row.payload_text),
            subjects=subjects.get(row.id, ""),
            original_size_bytes=size(row),
        )
        for row in rows
    ]


def _store(rows: Iterable[ArchivedEntry]) -> None:
    ArchivedEntry.objects.bulk_create(rows)


def _chunks(rows: QuerySet[JournalEntry]) -> Iterator[list[JournalEntry]]:
    ids = list(rows.order_by("seq").values_list("pk", flat=True))
    for start in range(0, len(ids), CHUNK):
        part = JournalEntry.objects.filter(pk__in=ids[start : start + CHUNK])
        yield list(part.order_by("seq"))


def _archive_and_delete(
    rows: QuerySet[JournalEntry], point: ChainCheckpoint, now: datetime
) -> _Removal:
    """Archive a bucket's entries, then delete them with their dependent rows."""
    removal, ids = _Removal(), []

    @lru_cache(maxsize=32)
    def signed(point_id: int) -> dict[int, str]:
        return integrity.signed(ChainCheckpoint.objects.get(pk=point_id))

    for chunk in _chunks(rows):
        _check(chunk, _hashes_before(point.workspace_id, chunk, signed))
        _store(_archived(chunk, point, now))
        ids.append([row.id for row in chunk])
        removal.pairs += [(row.seq, row.entry_hash) for row in chunk]
        removal.bytes += sum(size(row) for row in chunk)
        removal.times += [row.ts for row in chunk]
    # After all chunks: checking an entry needs the hash of the one before it.
    for part in ids:
        _, by_table = JournalEntry.objects.filter(pk__in=part).delete()
        removal.deleted += by_table.get(JournalEntry._meta.label, 0)
    return removal


def _compact(workspace_id: str, bucket: Bucket, before: datetime) -> _Removal | None:
    """Compact one bucket in one transaction; None when it is too small by now."""
    now, start = timezone.now(), datetime.combine(bucket.day, time.min, UTC)
    with transaction.atomic():
        # Appends and priority changes wait for this lock.
        ChainHead.objects.select_for_update().get(pk=workspace_id)
        rows = _eligible(workspace_id, before).filter(
            crew_id=bucket.crew_id,
            entry_type=bucket.entry_type,
            ts__gte=start,
            ts__lt=start + timedelta(days=1),
        )
        ids = list(rows.values_list("pk", flat=True))
        # The archive shortens texts: entries under a legal hold stay in the journal.
        held_ids = legal_holds.held_ids(workspace_id, ids)
        if len(ids) - len(held_ids) < MIN_ENTRIES:
            return None
        rows = rows.exclude(pk__in=held_ids)
        point = ChainCheckpoint.objects.create(
            workspace_id=workspace_id, removed=[], mac=""
        )
        removal = _archive_and_delete(rows, point, now)
        point.removed = [list(pair) for pair in removal.pairs]
        point.mac = hashing.checkpoint_mac(journal.key(), workspace_id, removal.pairs)
        point.save(update_fields=["removed", "mac"])
        expected, archived = len(removal.pairs), point.archived.count()
        if not expected == archived == removal.deleted:
            raise RowsLost(wanted=expected, archived=archived, deleted=removal.deleted)
        _summarise(workspace_id, bucket, point, removal)
    return removal


def _summarise(
    workspace_id: str, bucket: Bucket, point: ChainCheckpoint, removal: _Removal
) -> None:
    day, count = bucket.day.isoformat(), len(removal.pairs)
    payload: dict[str, Any] = {
        "bucket_date": day,
        "entry_type": bucket.entry_type,
        "count": count,
        "bytes_sum": removal.bytes,
        "first_ts": journal.stamp(min(removal.times)),
        "last_ts": journal.stamp(max(removal.times)),
        "checkpoint": point.pk,
    }
    new = NewEntry(
        entry_type="system.compaction",
        summary=f"{count} {bucket.entry_type} entries of {day} were archived",
        payload=payload,
        ts=datetime.combine(bucket.day, time(23, 59, 59), UTC),
        crew_id=bucket.crew_id,
    )
    journal.write([new], by=system(workspace_id, "compaction"))


def run(workspace_id: str, *, days: int = DAYS, at: datetime | None = None) -> Report:
    """Compact every bucket of a workspace that is due; RowsLost stops the run."""
    moment, report = at or timezone.now(), Report()
    before = cutoff(days, moment)
    for bucket in plan(workspace_id, days=days, at=moment):
        try:
            removal = _compact(workspace_id, bucket, before)
        except TamperedEntry as error:
            report.refused.append(
                f"{bucket.day} {bucket.entry_type} left as it is, {error}"
            )
            continue
        if removal is not None:
            report.buckets += 1
            report.archived += len(removal.pairs)
            report.bytes += removal.bytes
            # Behind a bucket that is done: finding them may take the whole time.
            if time_box.is_over():
                break
    return report

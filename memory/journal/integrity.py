"""Verify one entry: its content, its seal, and its link to the entry before."""

from __future__ import annotations

from typing import Final

from memory.journal import append as journal
from memory.journal.chain_scan import Link
from memory.models import ArchivedEntry, ChainCheckpoint, ChainSegment, JournalEntry
from memory.rules import entries, hashing
from memory.rules.translation import gettext_noop


def adopted_until(workspace_id: str) -> int:
    """Return the last number that was chained with a key that is lost, 0 for none."""
    last = 0
    for row in ChainSegment.objects.filter(workspace_id=workspace_id):
        mac = hashing.segment_mac(
            journal.key(), workspace_id, row.last_seq, row.last_hash
        )
        if mac == row.mac:
            last = max(last, row.last_seq)
    return last


def is_linked(row: JournalEntry | Link, adopted_seq: int = 0) -> bool:
    """Whether an entry's hash reproduces; one that is not even a hash does not.

    Up to the number ``adopted_seq`` the key is lost and the seal of the adoption is
    checked instead; an erased entry has its own seal, which ``content_fault`` checks.
    """
    if isinstance(row, JournalEntry) and row.seq <= adopted_seq:
        sealed = hashing.adopted_seal(
            journal.key(), row.prev_hash, row.commitment, row.entry_hash
        )
        return row.salt is None or sealed == row.seal
    try:
        link_hash = hashing.link(journal.key(), row.prev_hash, row.commitment)
    except ValueError:
        return False
    return link_hash == row.entry_hash


UNSIGNED: Final = {
    "erased": gettext_noop("It is marked as erased and nothing signed says so."),
    "redacted": gettext_noop("It is marked as redacted and nothing signed says so."),
}


def _searchable(row: JournalEntry) -> str | None:
    """Return the words of the payload for the index, None when it is not JSON."""
    try:
        return entries.body_of(row.entry_type, row.payload)
    except (ValueError, TypeError):
        return None


def _seal_fault(row: JournalEntry) -> str | None:
    """Check what an erasure or a redaction left against its seal."""
    if row.erased_at is None and row.redacted_at is None:
        return gettext_noop("Its salt is gone.")
    kind = "erased" if row.erased_at is not None else "redacted"
    texts = (row.summary, row.body, row.payload_text, row.refs_text)
    if kind == "erased" and texts != ("", "", "{}", "{}"):
        return gettext_noop("An erased entry holds words.")
    seal = hashing.seal(journal.key(), row.entry_hash, kind, journal.content(row))
    if seal != row.seal:
        return UNSIGNED[kind]
    if row.body != _searchable(row):
        return gettext_noop("Its words in the index were changed.")
    return None


def content_fault(row: JournalEntry) -> str | None:
    """Return what was changed in an entry, None when it is unchanged."""
    if row.salt is None:
        return _seal_fault(row)
    if hashing.commitment(bytes(row.salt), journal.content(row)) != row.commitment:
        return gettext_noop("Its content was changed.")
    if row.erased_at is not None or row.redacted_at is not None:
        return gettext_noop("It is marked as erased and was not.")
    if row.body != _searchable(row):
        return gettext_noop("Its words in the index were changed.")
    return None


def signed(point: ChainCheckpoint) -> dict[int, str]:
    """Return seq → hash of the entries a checkpoint covers; none for a forged one."""
    try:
        pairs = [(int(seq), str(digest)) for seq, digest in point.removed]
    except (TypeError, ValueError):
        return {}
    mac = hashing.checkpoint_mac(journal.key(), point.workspace_id, pairs)
    return dict(pairs) if mac == point.mac else {}


def removed_hash(workspace_id: str, seq: int) -> str | None:
    """Return the signed hash of an entry that was compacted, None when it was not."""
    points = ChainCheckpoint.objects.filter(workspace_id=workspace_id)
    archived = ArchivedEntry.objects.filter(workspace_id=workspace_id, seq=seq)
    checkpoint_id = archived.values_list("checkpoint_id", flat=True).first()
    if checkpoint_id is not None:
        points = points.filter(pk=checkpoint_id)
    for point in points.order_by("-pk").iterator(chunk_size=16):
        covered = signed(point)
        if seq in covered:
            return covered[seq]
    return None


def _follows(row: JournalEntry, before: JournalEntry | None) -> bool:
    """Whether an entry follows the one before it, which may have been compacted."""
    if before is not None and before.seq == row.seq - 1:
        return before.entry_hash == row.prev_hash
    if row.seq == 1:
        return row.prev_hash == ""
    return removed_hash(row.workspace_id, row.seq - 1) == row.prev_hash


def of(row: JournalEntry, before: JournalEntry | None) -> str:
    """Return holds, erased, redacted or broken for an entry and its link back.

    ``before`` is the nearest entry that is still there, None when there is none.
    """
    if not (_follows(row, before) and is_linked(row, adopted_until(row.workspace_id))):
        return "broken"
    if content_fault(row) is not None:
        return "broken"
    if row.salt is not None:
        return "holds"
    return "erased" if row.erased_at is not None else "redacted"

"""Whether one entry still says what it said when it was chained."""

from __future__ import annotations

from memory import journal
from memory.models import ArchivedEntry, ChainCheckpoint, JournalEntry
from memory.rules import chain


def is_linked(row: JournalEntry) -> bool:
    """Whether an entry's hash reproduces; one that is not even a hash does not."""
    try:
        made = chain.link(journal.key(), row.prev_hash, row.commitment)
    except ValueError:
        return False
    return made == row.entry_hash


def _searchable(row: JournalEntry) -> str | None:
    """Return the words that the payload gives to the index, None when it is no JSON."""
    try:
        return journal.searchable(row.payload)
    except (ValueError, TypeError):
        return None


def content_fault(row: JournalEntry) -> str | None:
    """Return what was changed in an entry, None when it says what it always said."""
    if row.salt is None:
        if row.erased_at is None:
            return "Its salt is gone."
        left = (row.summary, row.body, row.payload_text, row.refs_text)
        return None if left == ("", "", "{}", "{}") else "An erased entry holds words."
    if chain.commitment(bytes(row.salt), journal.content(row)) != row.commitment:
        return "Its content was changed."
    if row.erased_at is not None:
        return "It is marked as erased and was not."
    if row.body != _searchable(row):
        return "Its words in the index were changed."
    return None


def signed(point: ChainCheckpoint) -> dict[int, str]:
    """Return seq → hash of what a checkpoint covers; a forged one covers nothing."""
    try:
        pairs = [(int(seq), str(digest)) for seq, digest in point.removed]
    except (TypeError, ValueError):
        return {}
    mac = chain.checkpoint_mac(journal.key(), point.workspace_id, pairs)
    return dict(pairs) if mac == point.mac else {}


def left_hash(workspace_id: str, seq: int) -> str | None:
    """Return the signed hash of an entry that left on purpose, None when none did."""
    points = ChainCheckpoint.objects.filter(workspace_id=workspace_id)
    archived = ArchivedEntry.objects.filter(workspace_id=workspace_id, seq=seq)
    named = archived.values_list("checkpoint_id", flat=True).first()
    if named is not None:
        points = points.filter(pk=named)
    for point in points.order_by("-pk").iterator(chunk_size=16):
        covered = signed(point)
        if seq in covered:
            return covered[seq]
    return None


def _follows(row: JournalEntry, before: JournalEntry | None) -> bool:
    """Whether an entry follows the one before it, which may have left on purpose."""
    if before is not None and before.seq == row.seq - 1:
        return before.entry_hash == row.prev_hash
    if row.seq == 1:
        return row.prev_hash == ""
    return left_hash(row.workspace_id, row.seq - 1) == row.prev_hash


def of(row: JournalEntry, before: JournalEntry | None) -> str:
    """Return holds, erased or broken for one entry and its link to the one before.

    ``before`` is the nearest entry that is still there, None when there is none.
    """
    if not (_follows(row, before) and is_linked(row)):
        return "broken"
    if content_fault(row) is not None:
        return "broken"
    return "erased" if row.salt is None else "holds"

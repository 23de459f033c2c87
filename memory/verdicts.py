"""Whether one entry still says what it said when it was chained."""

from __future__ import annotations

from memory import journal
from memory.models import JournalEntry
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


def of(row: JournalEntry, before: JournalEntry | None) -> str:
    """Return holds, erased or broken for one entry and its link to the one before."""
    follows = before is None or before.entry_hash == row.prev_hash
    if not (follows and is_linked(row)) or content_fault(row) is not None:
        return "broken"
    return "erased" if row.salt is None else "holds"

"""The entries that somebody may mean by the words of an expected entry."""

from __future__ import annotations

import re
from typing import Final

from memory.journal import queries
from memory.journal.queries import JournalFilter
from memory.models import JournalEntry
from memory.rules.permissions import Actor

MAX_CANDIDATES: Final = 8
_ID: Final = re.compile(r"j_\w*")


def is_id(text: str) -> bool:
    """Whether a text has the form of an entry's id."""
    return _ID.fullmatch(text.strip()) is not None


def search(actor: Actor, words: str) -> list[JournalEntry]:
    """Return the newest entries with these words that the actor may read."""
    rows = queries.filtered(actor, JournalFilter(q=words)).filter(erased_at=None)
    return list(rows.order_by("-ts", "-seq")[:MAX_CANDIDATES])

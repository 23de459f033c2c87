"""Counts of a workspace on PostgreSQL, kept while it grows by less than a fifth.

Counted are the entries that may be used and are embedded: how many, how long their
texts are on average, and how many of them hold a word.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, Final

from django.db import connection

from memory.models import ChainHead

GROWTH: Final = 1.2
SIZE: Final = 20_000
_SPEAKS: Final = (
    "e.workspace_id = %s AND e.embeddable AND e.retired_at IS NULL"
    " AND e.restricted_at IS NULL AND e.erased_at IS NULL"
)
# The second and third byte of stored words are the length of the text.
_ENTRIES: Final = (
    "SELECT count(*), COALESCE(avg(get_byte(w.words, 1) + 256 * get_byte(w.words, 2)),"  # noqa: S608
    " 0) FROM journal_entries e LEFT JOIN journal_words w ON w.docid = e.docid"
    f" WHERE {_SPEAKS}"
)
# A word that PostgreSQL leaves out of its index is taken as one that all texts hold.
_HOLDING: Final = (
    "SELECT count(*) FROM journal_entries e,"  # noqa: S608
    " plainto_tsquery('english', journal_fold(%s)) AS asked"
    f" WHERE {_SPEAKS} AND (e.tsv @@ asked OR numnode(asked) = 0)"
)


class Frequencies:
    """The counts of every workspace asked lately, in this process."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], tuple[int, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def entries(self, workspace_id: str, head: int) -> tuple[int, float]:
        """Return how many entries are counted, and how long they are on average."""
        key = (workspace_id, "")
        count, average = self._get(key, head, _ENTRIES, [workspace_id])
        return int(count), float(average)

    def holding(self, workspace_id: str, word: str, head: int) -> int:
        """Return how many entries hold a word."""
        key = (workspace_id, word)
        return int(self._get(key, head, _HOLDING, [word, workspace_id])[0])

    def _get(
        self, key: tuple[str, str], head: int, sql: str, params: list[str]
    ) -> tuple[Any, ...]:
        with self._lock:
            cached = self._known.get(key)
        if cached is not None and cached[0] <= head <= cached[0] * GROWTH:
            return tuple(cached[1])
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            row = tuple(cursor.fetchone())
        with self._lock:
            self._known[key] = (head, row)
            if len(self._known) > SIZE:
                self._known.popitem(last=False)
        return row

    def clear(self) -> None:
        """Forget every count: it may tell that an erased word once occurred."""
        with self._lock:
            self._known.clear()

    def __len__(self) -> int:
        return len(self._known)


def head_of(workspace_id: str) -> int:
    """Return how many entries were ever appended to a workspace."""
    seqs = ChainHead.objects.filter(pk=workspace_id).values_list("seq", flat=True)
    return seqs.first() or 0


frequencies = Frequencies()

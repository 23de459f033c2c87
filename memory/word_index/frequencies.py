"""How many entries hold a term, on PostgreSQL: counted once, then stored.

Counted are the entries that may be used and are embedded: all of them, those of a crew,
an agent or a type, and those that hold a term. The counts of all processes are in one
table. One is counted again when the chain has grown since by more than a fifth of it,
so that appending makes it wrong by no more than that part, and counting a word costs,
over time, some rows for each that was appended. Entries that were retired or restricted
meanwhile are still counted until then. Database triggers delete the counts of an erased
entry's words in the same transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from django.db import connection, transaction

from memory.models import WordCount
from memory.word_index import pg_read, pg_table, terms
from memory.word_index.pg_table import KEYS_SQL, LENGTH_SQL, SPEAKS_SQL

# Stored beside the terms: every entry, and how long their texts are together.
ALL: Final = -1
GROWTH: Final = 5
# Entries whose words are not written yet; the newest, should there be many.
UNWRITTEN: Final = 500
_STORED: Final = (
    "SELECT h.seq, ARRAY(SELECT docid FROM word_changes WHERE workspace_id = %s"
    " ORDER BY id DESC LIMIT %s), c.term, c.seq, c.entries, c.words"
    " FROM journal_chain_heads h"
    " LEFT JOIN word_counts c ON c.workspace_id = h.workspace_id AND c.term = ANY(%s)"
    " WHERE h.workspace_id = %s"
)
_HEAD: Final = "SELECT seq FROM journal_chain_heads WHERE workspace_id = %s"
_UP_TO: Final = f"SELECT coalesce(({_HEAD}), 0), counts.*"
_ENTRIES: Final = (
    f"SELECT {ALL}, count(*), coalesce(sum({LENGTH_SQL}), 0) FROM journal_words w"  # noqa: S608
    f" WHERE w.workspace_id = %s AND {SPEAKS_SQL} AND octet_length(w.words) > 4"
)
_HOLDING: Final = (
    "SELECT %s::bigint, count(*), 0::bigint FROM journal_words w"  # noqa: S608
    f" WHERE w.workspace_id = %s AND {KEYS_SQL} AND {SPEAKS_SQL}"
)
_HOLDS: Final = (
    f"SELECT 1 FROM journal_words w WHERE w.workspace_id = %s AND {KEYS_SQL} LIMIT 1"  # noqa: S608
)
# Texts that hold most of the frequent terms, whose lists are long to look into.
_NEWEST: Final = (
    "SELECT words FROM journal_words WHERE workspace_id = %s"
    " ORDER BY docid DESC LIMIT %s"
)
READ_FIRST: Final = 5_000
# Nobody waits: where words are just leaving, nothing is stored.
_MAY_STORE: Final = (
    "SELECT pg_try_advisory_xact_lock(hashtextextended('word counts ' || %s, 0))"
)
# Nor for the disk: a count that a crash takes is counted again.
_AT_ONCE: Final = ", set_config('synchronous_commit', 'off', true)"
_STORE: Final = (
    "INSERT INTO word_counts (workspace_id, term, seq, entries, words)"
    " VALUES (%s, %s, %s, %s, %s) ON CONFLICT (workspace_id, term) DO UPDATE SET"
    " seq = excluded.seq, entries = excluded.entries, words = excluded.words"
)


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of a question: ``by_term`` has terms and keys of ``of_column``.

    ``words`` is the length of all texts together, ``seq`` the last entry of the chain,
    and ``unwritten`` are entries whose words are not written yet.
    """

    entries: int
    words: int
    by_term: dict[int, int]
    seq: int = 0
    unwritten: tuple[int, ...] = ()

    @property
    def average(self) -> float:
        """The average length of a text."""
        return self.words / max(1, self.entries)


def counts(workspace_id: str, numbers: Collection[int]) -> Counts:
    """Return the counts of terms, and of keys of ``pg_table.of_column``."""
    needed = {ALL, *numbers}
    params = [workspace_id, UNWRITTEN, sorted(needed), workspace_id]
    rows = pg_read.fetch(_STORED, params)
    head, unwritten = rows[0][:2] if rows else (0, ())
    stored = {
        term: (entries, words)
        for _, _, term, seq, entries, words in rows
        if term is not None and seq <= head <= seq + entries // GROWTH
    }
    if unknown := needed - stored.keys():
        stored |= _count_all(workspace_id, sorted(unknown))
    entries, words = stored.pop(ALL)
    by_term = {term: count for term, (count, _) in stored.items()}
    return Counts(entries, words, by_term, head, tuple(unwritten))


def _count_all(workspace_id: str, numbers: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Count, and store what was counted where no words are leaving."""
    # One statement: what comes meanwhile is in none of the counts, and behind the head.
    parts = [_count(workspace_id, number) for number in numbers]
    subquery = " UNION ALL ".join(sql for sql, _ in parts)
    params = [workspace_id, *chain.from_iterable(params for _, params in parts)]
    # A transaction of somebody else has to be on the disk when it ends.
    lock = _MAY_STORE + ("" if connection.in_atomic_block else _AT_ONCE)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(lock, [workspace_id])
        may_store = cursor.fetchone()[0]
        cursor.execute(f"{_UP_TO} FROM ({subquery}) AS counts", params)
        rows = list(cursor.fetchall())
        if may_store:
            values = [(workspace_id, term, seq, *count) for seq, term, *count in rows]
            cursor.executemany(_STORE, values)
    return {term: (int(entries), int(words)) for _, term, entries, words in rows}


def _count(workspace_id: str, number: int) -> tuple[str, list[Any]]:
    """Return the statement that counts a number, and its parameters."""
    if number == ALL:
        return _ENTRIES, [workspace_id]
    return _HOLDING, [number, workspace_id, _keys(workspace_id, number)]


def _keys(workspace_id: str, number: int) -> str:
    return pg_read.array(pg_table.keys(workspace_id, [number]))


def of_no_entry(workspace_id: str) -> list[int]:
    """Return the terms that were counted and that no entry holds any more."""
    rows = WordCount.objects.filter(workspace_id=workspace_id, entries__gt=0)
    numbers = rows.filter(term__range=(0, pg_table.OTHER - 1))
    counted = set(numbers.values_list("term", flat=True))
    if counted:
        newest = pg_read.fetch(_NEWEST, [workspace_id, READ_FIRST])
        blobs = [blob for (blob,) in newest if terms.is_readable(blob)]
        counted.difference_update(terms.unpack(blobs).terms.tolist())
    return [
        term
        for term in sorted(counted)
        if not pg_read.fetch(_HOLDS, [workspace_id, _keys(workspace_id, term)])
    ]


def clear() -> None:
    """Delete every count; the next question counts again."""
    WordCount.objects.all().delete()

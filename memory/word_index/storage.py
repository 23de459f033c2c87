"""The stored words of entries: written with them, completed, and their log trimmed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from django.db import connection, transaction

from memory import authors
from memory.word_index import terms

CHUNK: Final = 500
KEEP_CHANGES: Final = 200_000
_STORE: Final = (
    "INSERT INTO journal_words (docid, words) VALUES (%s, %s)"
    " ON CONFLICT (docid) DO UPDATE SET words = excluded.words"
)
_NO_WORDS: Final = "NOT EXISTS (SELECT 1 FROM journal_words w WHERE w.docid = e.docid)"
_NEXT: Final = (
    "SELECT e.docid FROM journal_entries e"  # noqa: S608
    f" WHERE e.docid > %s AND {_NO_WORDS} ORDER BY e.docid LIMIT %s"
)
_TEXTS: Final = (
    "SELECT e.docid, e.summary, e.body, a.name FROM journal_entries e"
    " LEFT JOIN agents a ON a.id = e.agent_id"
)


def store(entries: Iterable[tuple[int, str, str, str | None]]) -> None:
    """Write the words of entries, given as docid, summary, body and author's name.

    The caller holds a transaction in which their texts do not change.
    """
    rows = [
        (docid, terms.words_of(authors.attributed(name, summary), body))
        for docid, summary, body, name in entries
    ]
    with connection.cursor() as cursor:
        cursor.executemany(_STORE, rows)


def fill(is_over: Callable[[], bool] = lambda: False) -> int:
    """Write the words of every entry that has none, until its time is over.

    Returns how many. They are looked for before the transaction: appends need not wait.
    """
    docid, count = -1, 0
    while True:
        with connection.cursor() as cursor:
            cursor.execute(_NEXT, [docid, CHUNK])
            docids = [docid for (docid,) in cursor.fetchall()]
        if not docids or is_over():
            return count
        count += _fill(docids)
        docid = docids[-1]


def _fill(docids: Sequence[int]) -> int:
    """Write the words of those named entries that have none; return how many.

    An entry is locked meanwhile, or the words of a text could be written that somebody
    is just erasing.
    """
    lock = " FOR UPDATE OF e" if connection.features.has_select_for_update_of else ""
    marks = ", ".join(["%s"] * len(docids))
    sql = f"{_TEXTS} WHERE e.docid IN ({marks}) AND {_NO_WORDS}{lock}"
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, docids)
        rows = cursor.fetchall()
        store(rows)
    return len(rows)


def trim() -> int:
    """Delete old rows of the log of changes; return how many.

    A row is left that says so, for an index that has not read them.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT min(id), max(id) FROM word_changes")
        first, last = cursor.fetchone()
        if last is None or last - first < 2 * KEEP_CHANGES:
            return 0
        upto = last - KEEP_CHANGES
        cursor.execute(
            "INSERT INTO word_changes (workspace_id, docid, kind)"
            " SELECT DISTINCT workspace_id, id, 'trim' FROM ("
            "  SELECT workspace_id, CAST(%s AS bigint) AS id FROM word_changes"
            "  WHERE id <= %s) AS old",
            [upto, upto],
        )
        cursor.execute("DELETE FROM word_changes WHERE id <= %s", [upto])
        return int(cursor.rowcount)

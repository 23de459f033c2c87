"""The stored words of entries: written with them, completed, and their log trimmed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from django.db import connection, transaction
from django.db.models import QuerySet

from memory import authors, fulltext
from memory.models import EntryWords
from memory.word_index import pg_table, terms
from memory.word_index.pg_table import Owners

CHUNK: Final = 500
KEEP_CHANGES: Final = 200_000
_STORE: Final = (
    "INSERT INTO journal_words (docid, words) VALUES (%s, %s)"
    " ON CONFLICT (docid) DO UPDATE SET words = excluded.words"
)
# On PostgreSQL the key begins with the workspace.
_STORED: Final = (*pg_table.COLUMNS, "words", "keys")
_OWNERS: Final = (
    "SELECT docid, crew_id, agent_id, entry_type FROM journal_entries"
    " WHERE docid = ANY(%s)"
)
_STORE_SPLIT: Final = (
    f"INSERT INTO {{table}} ({pg_table.NAMES}, words, keys)"  # noqa: S608
    f" SELECT {pg_table.FROM_JOURNAL}, v.words, v.keys::int[] FROM journal_entries e"
    " JOIN unnest(%s::bigint[], %s::bytea[], %s::text[]) AS v(docid, words, keys)"
    " ON v.docid = e.docid"
    " ON CONFLICT (workspace_id, docid) DO UPDATE SET"
    f" {', '.join(f'{name} = excluded.{name}' for name in _STORED)}"
)
_TRIM_LOG: Final = (
    "DELETE FROM word_changes c WHERE EXISTS (SELECT 1 FROM journal_words w"
    " WHERE w.workspace_id = c.workspace_id AND w.docid = c.docid)"
    " OR NOT EXISTS (SELECT 1 FROM journal_entries e WHERE e.docid = c.docid)"
)
_CHANGED: Final = (
    "SELECT id, docid FROM word_changes WHERE kind = 'words' AND id > %s"
    " ORDER BY id LIMIT %s"
)
_TEXTS: Final = (
    "SELECT e.docid, e.summary, e.body, a.name FROM journal_entries e"
    " LEFT JOIN agents a ON a.id = e.agent_id"
)


def store(
    entries: Iterable[tuple[int, str, str, str | None]],
    owners: Mapping[int, Owners] | None = None,
) -> None:
    """Write the words of entries, given as docid, summary, body and author's name.

    The caller holds a transaction in which their texts do not change. ``owners`` by
    docid, where all are known, spare PostgreSQL a look.
    """
    rows = [
        (docid, terms.words_of(authors.attributed(name, summary), body))
        for docid, summary, body, name in entries
    ]
    if connection.vendor != "sqlite":
        store_split(rows, owners)
        return
    with connection.cursor() as cursor:
        cursor.executemany(_STORE, rows)


def store_split(
    rows: Iterable[tuple[int, bytes]],
    owners: Mapping[int, Owners] | None = None,
    table: str = pg_table.TABLE,
) -> None:
    """Write words into PostgreSQL's table, with what stands beside them.

    Of entries that are not in the journal nothing is written.
    """
    words = {docid: blob for docid, blob in rows if terms.is_readable(blob)}
    with connection.cursor() as cursor:
        if owners is None:
            cursor.execute(_OWNERS, [list(words)])
            owners = {row[0]: row[1:] for row in cursor.fetchall()}
        docids = sorted(words.keys() & owners.keys())
        if docids:
            blobs = [words[docid] for docid in docids]
            columns = [owners[docid] for docid in docids]
            keys = pg_table.keys_of(docids, blobs, columns)
            lists = [f"{{{','.join(map(str, row))}}}" for row in keys]
            statement = _STORE_SPLIT.format(table=table)
            cursor.execute(statement, [docids, blobs, lists])


def rows_of(workspace_id: str) -> QuerySet[EntryWords]:
    """Return the stored words of a workspace's entries.

    On PostgreSQL the table's key begins with the workspace, which the model lacks.
    """
    rows = EntryWords.objects.filter(docid__range=fulltext.docids(workspace_id))
    if connection.vendor == "sqlite":
        return rows
    own = "journal_words.workspace_id = %s"
    return rows.extra(where=[own], params=[workspace_id])  # noqa: S610


def _no_words() -> str:
    """Return the condition of an entry ``e`` that has no words."""
    condition = "w.docid = e.docid"
    if connection.vendor != "sqlite":
        condition += " AND w.workspace_id = e.workspace_id"
    return f"NOT EXISTS (SELECT 1 FROM journal_words w WHERE {condition})"  # noqa: S608


def fill(is_over: Callable[[], bool] = lambda: False) -> int:
    """Write the words of every entry that has none, until its time is over.

    Returns how many. They are looked for before the transaction: appends need not wait.
    """
    docid, count = -1, 0
    following = (
        "SELECT e.docid FROM journal_entries e"  # noqa: S608
        f" WHERE e.docid > %s AND {_no_words()} ORDER BY e.docid LIMIT %s"
    )
    while True:
        with connection.cursor() as cursor:
            cursor.execute(following, [docid, CHUNK])
            docids = [docid for (docid,) in cursor.fetchall()]
            if not docids and connection.vendor != "sqlite":
                cursor.execute(_TRIM_LOG)
        if not docids:
            return count
        count += _fill(docids)
        docid = docids[-1]
        # Behind what is done: finding it may take the whole time.
        if is_over():
            return count


def fill_changed(is_over: Callable[[], bool] = lambda: False) -> int:
    """Write the words of changed entries on PostgreSQL, until its time is over.

    Returns how many. Of those that have none yet a question reads a few alone; an agent
    that gets another name may have thousands.
    """
    if connection.vendor == "sqlite":
        return 0
    last = count = 0
    with connection.cursor() as cursor:
        while not is_over():
            cursor.execute(_CHANGED, [last, CHUNK])
            rows = cursor.fetchall()
            if not rows:
                break
            count += _fill([docid for _, docid in rows])
            last = rows[-1][0]
        if last:
            cursor.execute(_TRIM_LOG)
    return count


def _fill(docids: Sequence[int]) -> int:
    """Write the words of those named entries that have none; return how many.

    An entry is locked meanwhile, or the words of a text could be written that somebody
    is just erasing.
    """
    # In the order in which others lock them.
    can_lock = connection.features.has_select_for_update_of
    lock = " ORDER BY e.id FOR UPDATE OF e" if can_lock else ""
    marks = ", ".join(["%s"] * len(docids))
    sql = f"{_TEXTS} WHERE e.docid IN ({marks}) AND {_no_words()}{lock}"
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

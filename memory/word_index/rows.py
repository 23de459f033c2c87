"""Reading entries and their words for the index, straight from SQLite.

Plain SQL instead of the ORM, and times as text: making a million date objects would
take longer than everything else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from memory import authors, fulltext, workspace_numbers
from memory.rules.entries import SEQ_BITS
from memory.word_index import bare_questions, segments, terms, threads
from memory.word_index.columns import (
    ASKS,
    EMBEDDABLE,
    TIMED,
    USABLE,
    Batch,
    joined,
)

# As many as a segment: loading merges none.
CHUNK: Final = segments.MAX_ROWS
# Read and decoded at once: what is made of them fits in the processor's cache.
ROWS_AT_ONCE: Final = 2_048
IDS_AT_ONCE: Final = 500
# Concatenated and added to, or the driver would make dates and booleans of them.
_COLUMNS: Final = (
    *("e.docid", "e.id", "e.crew_id", "e.agent_id", "e.entry_type", "e.trace_id"),
    *("e.ts || ''", "e.recorded_at || ''", "e.embeddable + 0"),
    "e.retired_at IS NULL AND e.restricted_at IS NULL AND e.erased_at IS NULL",
    bare_questions.CONDITION,
)
_SELECT: Final = (
    f"SELECT {', '.join(_COLUMNS)}, w.words FROM journal_entries e"  # noqa: S608  (ours)
    " LEFT JOIN journal_words w ON w.docid = e.docid"
)
# Each column of many entries as one text: SQLite makes it without Python's lock, and
# reading it back takes less time than making a row of every entry.
_NAMED: Final = ", ".join(f"{column} AS c{n}" for n, column in enumerate(_COLUMNS))
_LISTS: Final = ", ".join(f"json_group_array(c{n})" for n in range(len(_COLUMNS)))
_NEXT: Final = (
    f"SELECT {_LISTS} FROM (SELECT {_NAMED} FROM journal_entries e"  # noqa: S608
    " WHERE e.docid BETWEEN %s AND %s ORDER BY e.docid LIMIT %s)"
)
_WORDS: Final = "SELECT docid, words FROM journal_words WHERE docid BETWEEN %s AND %s"
_TEXTS: Final = (
    "SELECT e.docid, e.summary, e.body, a.name FROM journal_entries e"
    " LEFT JOIN agents a ON a.id = e.agent_id WHERE e.docid IN"
)


def _microseconds(texts: Sequence[str]) -> NDArray[np.int64]:
    return np.array(texts, dtype="datetime64[us]").astype(np.int64)


def marks(values: Sequence[object]) -> str:
    return ", ".join(["%s"] * len(values))


def read_words(docids: Sequence[int]) -> dict[int, bytes]:
    """Return the words of entries, computed from their texts."""
    words: dict[int, bytes] = {}
    with connection.cursor() as cursor:
        for start in range(0, len(docids), IDS_AT_ONCE):
            part = docids[start : start + IDS_AT_ONCE]
            cursor.execute(f"{_TEXTS} ({marks(part)})", part)
            for docid, summary, body, name in cursor.fetchall():
                text = authors.attributed(name, summary)
                words[docid] = terms.words_of(text, body)
    return words


def _named(docids: Sequence[int]) -> tuple[str, list[Any]]:
    """Return the condition of rows of words by docid.

    On PostgreSQL the key of the table begins with the workspace.
    """
    where, params = f"docid IN ({marks(docids)})", list[Any](docids)
    if connection.vendor != "sqlite":
        numbers = {docid >> SEQ_BITS for docid in docids}
        homes = [workspace_numbers.id_of(number) for number in sorted(numbers)]
        where, params = f"{where} AND workspace_id = ANY(%s)", [*params, homes]
    return where, params


def stored_words(docids: Sequence[int]) -> dict[int, bytes]:
    """Return the words of entries; those that are not stored are computed."""
    words: dict[int, bytes] = {}
    with connection.cursor() as cursor:
        for start in range(0, len(docids), IDS_AT_ONCE):
            part = docids[start : start + IDS_AT_ONCE]
            where, params = _named(part)
            sql = f"SELECT docid, words FROM journal_words WHERE {where}"  # noqa: S608
            cursor.execute(sql, params)
            words.update((docid, bytes(blob)) for docid, blob in cursor.fetchall())
    words = {d: blob for d, blob in words.items() if terms.is_readable(blob)}
    return words | read_words([d for d in docids if d not in words])


def _readable(docids: Sequence[int], blobs: Sequence[bytes | None]) -> Sequence[bytes]:
    """Return the stored words of entries; those that are not stored are computed."""
    if terms.all_readable(blobs):
        return cast("Sequence[bytes]", blobs)
    # Mostly some are missing, and all others are readable.
    stored = [blob for blob in blobs if blob is not None]
    if not terms.all_readable(stored):
        blobs = [blob if terms.is_readable(blob) else None for blob in blobs]
    words = read_words(
        [d for d, blob in zip(docids, blobs, strict=True) if blob is None]
    )
    # An entry may have been deleted since.
    no_words = terms.words_of("", "")
    return [
        words.get(docid, no_words) if blob is None else blob
        for docid, blob in zip(docids, blobs, strict=True)
    ]


def _batch(rows: Sequence[tuple[Any, ...]]) -> Batch:
    """Return rows as arrays."""
    columns = list(zip(*rows, strict=True))
    return _batch_of(columns or [()] * (len(_COLUMNS) + 1))


def _batch_of(columns: Sequence[Sequence[Any]]) -> Batch:
    """Return columns and, last, stored words as arrays."""
    (
        docid, ids, crews, agents, types, traces, ts, recorded, embeds, usable, asks,
        blobs,
    ) = columns  # fmt: skip
    flags = np.array(usable, dtype=np.uint8) * USABLE
    flags |= np.array(embeds, dtype=np.uint8) * EMBEDDABLE
    flags |= np.array(asks, dtype=np.uint8) * ASKS
    flags |= np.array([t is None for t in traces], dtype=np.uint8) * TIMED
    keys = map(threads.key, traces, crews, agents)
    return Batch(
        docid=np.array(docid, dtype=np.int64),
        ids=np.array(ids, dtype="S"),
        ts=_microseconds(ts),
        recorded=_microseconds(recorded),
        thread=np.fromiter(keys, dtype=np.int64, count=len(docid)),
        flags=flags,
        crews=crews,
        agents=agents,
        types=types,
        words=terms.unpack(_readable(docid, blobs)),
    )


def count(workspace_id: str) -> int:
    """Return about how many entries a workspace has, to allocate the arrays once."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM journal_entries WHERE docid BETWEEN %s AND %s",
            [*fulltext.docids(workspace_id)],
        )
        return int(cursor.fetchone()[0])


def read_all(workspace_id: str) -> Iterator[Batch]:
    """Yield all entries of a workspace, a segment at a time."""
    first, high = fulltext.docids(workspace_id)
    while parts := list(_segment(first, high)):
        yield joined(parts)
        first = int(parts[-1].docid[-1]) + 1


def _segment(first: int, high: int) -> Iterator[Batch]:
    """Yield the entries from a docid on, together as many as a segment."""
    for _ in range(CHUNK // ROWS_AT_ONCE):
        with connection.cursor() as cursor:
            cursor.execute(_NEXT, [first, high, ROWS_AT_ONCE])
            columns = [json.loads(text) for text in cursor.fetchone()]
            docids = columns[0]
            if not docids:
                return
            cursor.execute(_WORDS, [docids[0], docids[-1]])
            words = dict(cursor.fetchall())
        yield _batch_of([*columns, [words.get(docid) for docid in docids]])
        first = docids[-1] + 1


def read_after(workspace_id: str, docid: int) -> Iterator[Batch]:
    """Yield the entries of a workspace behind a docid, a few thousand at a time."""
    low, high = fulltext.docids(workspace_id)
    sql = f"{_SELECT} WHERE e.docid BETWEEN %s AND %s ORDER BY e.docid"
    with connection.cursor() as cursor:
        cursor.execute(sql, [max(low, docid + 1), high])
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            yield _batch(rows)


def read_docids(docids: Sequence[int]) -> Batch:
    """Return named entries by docid, those that exist."""
    rows: list[tuple[Any, ...]] = []
    with connection.cursor() as cursor:
        for start in range(0, len(docids), IDS_AT_ONCE):
            part = sorted(docids)[start : start + IDS_AT_ONCE]
            sql = f"{_SELECT} WHERE e.docid IN ({marks(part)}) ORDER BY e.docid"
            cursor.execute(sql, part)
            rows += cursor.fetchall()
    return _batch(rows)

"""Fast check of a chain's links: thousands per query, as long as all of them hold."""

from __future__ import annotations

from typing import Final, NamedTuple

from django.db import connection

from memory.journal import append as journal
from memory.rules import hashing

CHUNK: Final = 5_000
_FROM: Final = (
    " FROM journal_entries WHERE workspace_id = %s AND seq > %s AND seq <= %s"
    " ORDER BY seq LIMIT %s"
)
_LINKS: Final = (
    f"SELECT seq, id, prev_hash, commitment, entry_hash, salt IS NULL{_FROM}"
)
# Thousands of links in one row, and the ids of the erased or redacted entries.
_RUN: Final = f"""
    SELECT count(*), min(seq), max(seq), {{concat}}(hashes, ''{{ordered}}),
        {{concat}}(CASE WHEN sealed THEN id END, ','),
        sum(CASE WHEN sealed THEN 1 ELSE 0 END),
        min(prev_size), max(prev_size), min(commit_size), max(commit_size),
        min(entry_size), max(entry_size)
    FROM (SELECT seq, id, prev_hash || commitment || entry_hash AS hashes,
        salt IS NULL AS sealed, length(prev_hash) AS prev_size,
        length(commitment) AS commit_size,
        length(entry_hash) AS entry_size{_FROM}) links
"""  # noqa: S608  (ours)
_SQL: Final = {
    "sqlite": _RUN.format(concat="group_concat", ordered=""),
    "postgresql": _RUN.format(concat="string_agg", ordered=" ORDER BY seq"),
}


class Link(NamedTuple):
    """The columns of an entry that chain it to the one before."""

    seq: int
    id: str
    prev_hash: str
    commitment: str
    entry_hash: str
    is_sealed: bool


class Run(NamedTuple):
    """Consecutive links that all hold: how many, and where they end."""

    length: int
    seq: int
    entry_hash: str
    sealed: list[str]


def next_links(workspace_id: str, after: int, end: int) -> list[Link]:
    """Return the next links, to be checked one by one; at the start only one."""
    with connection.cursor() as cursor:
        cursor.execute(_LINKS, [workspace_id, after, end, CHUNK if after else 1])
        return [Link._make(row) for row in cursor.fetchall()]


def unbroken_run(workspace_id: str, after: int, prev: str, end: int) -> Run | None:
    """Return the next links when all of them hold, else None.

    None also when there are no more links: ``next_links`` tells the two cases apart.
    """
    if not prev:
        return None
    with connection.cursor() as cursor:
        cursor.execute(_SQL[connection.vendor], [workspace_id, after, end, CHUNK])
        count, first, last, hashes, sealed, sealed_count, *sizes = cursor.fetchone()
    if not count or first != after + 1 or last != after + count:
        return None
    if set(sizes) != {hashing.HASH_CHARS}:
        return None
    if not hashing.is_unbroken(journal.key(), prev, hashes, count):
        return None
    ids = sealed.split(",") if sealed else []
    if len(ids) != sealed_count:
        return None
    return Run(count, last, hashes[-hashing.HASH_CHARS :], ids)

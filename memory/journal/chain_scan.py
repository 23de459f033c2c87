"""The links of a chain, read quickly: there are many, and mostly all of them hold."""

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
# Many links in one row, and apart from them which entries were erased or redacted.
_RUN: Final = f"""
    SELECT count(*), min(seq), max(seq), {{together}}(hashes, ''{{ordered}}),
        {{together}}(CASE WHEN sealed THEN id END, ','),
        sum(CASE WHEN sealed THEN 1 ELSE 0 END),
        min(one), max(one), min(two), max(two), min(three), max(three)
    FROM (SELECT seq, id, prev_hash || commitment || entry_hash AS hashes,
        salt IS NULL AS sealed, length(prev_hash) AS one, length(commitment) AS two,
        length(entry_hash) AS three{_FROM}) links
"""  # noqa: S608  (ours)
_SQL: Final = {
    "sqlite": _RUN.format(together="group_concat", ordered=""),
    "postgresql": _RUN.format(together="string_agg", ordered=" ORDER BY seq"),
}


class Link(NamedTuple):
    """What of an entry chains it to the one before."""

    seq: int
    id: str
    prev_hash: str
    commitment: str
    entry_hash: str
    is_sealed: bool


class Run(NamedTuple):
    """Links one after the other that all hold: how many, and where they end."""

    length: int
    seq: int
    entry_hash: str
    sealed: list[str]


def next_links(workspace_id: str, after: int, end: int) -> list[Link]:
    """Return the next links, to be looked at one by one; the first comes alone."""
    with connection.cursor() as cursor:
        cursor.execute(_LINKS, [workspace_id, after, end, CHUNK if after else 1])
        return [Link._make(row) for row in cursor.fetchall()]


def unbroken_run(workspace_id: str, after: int, prev: str, end: int) -> Run | None:
    """Return the next links when nothing is wrong with them, else None.

    None says no more than that: somebody has to look closer, or there is none left.
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

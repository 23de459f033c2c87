"""Searching the text of many entries at once; only likely matches are read in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from django.db import connection

from gdpr.data_map import row_text
from gdpr.data_map.base import Person
from gdpr.matching import name_fields

CHUNK: Final = 1_000
AT_ONCE: Final = 500
# Plain SQL, because nearly all of some 200,000 rows are read and discarded.
_SQL: Final = (
    "SELECT seq, id, entry_type, summary, payload, refs, mission_id, trace_id, span_id"
    " FROM journal_entries WHERE erased_at IS NULL"
)
_COLUMNS: Final = 6
# All text of an entry as one value. SQLite returns the texts of many entries in one
# row: one row each would release and re-acquire the interpreter lock every time.
_TEXTS_SQL: Final = f"""
    SELECT seq, summary || %s || payload || %s || refs || %s || coalesce(mission_id, '')
        || %s || coalesce(trace_id, '') || %s || coalesce(span_id, '') AS said
    FROM journal_entries WHERE erased_at IS NULL AND workspace_id = %s AND seq > %s
    ORDER BY seq LIMIT {CHUNK}
"""  # noqa: S608  (ours)
_GROUPED_SQL: Final = (
    f"SELECT group_concat(seq), group_concat(said, char(0)) FROM ({_TEXTS_SQL}) said"  # noqa: S608
)
# See ``memory.journal.erasure.of`` for the detour.
_BY_ID_SQL: Final = f"{_SQL} AND coalesce(workspace_id, '') = %s AND id IN"
_BY_SEQ_SQL: Final = f"{_SQL} AND workspace_id = %s AND seq IN"


class Row(NamedTuple):
    """The searched columns of an entry, in the order of the query."""

    seq: int
    id: str
    entry_type: str
    summary: str
    payload_text: str
    refs_text: str
    mission_id: str | None
    trace_id: str | None
    span_id: str | None

    @property
    def text(self) -> str:
        return row_text.join_texts(
            (
                self.summary,
                name_fields.json_as_text(self.payload_text),
                name_fields.json_as_text(self.refs_text),
                self.mission_id or "",
                self.trace_id or "",
                self.span_id or "",
            )
        )


def _next_texts(workspace_id: str, after: int) -> tuple[list[int], list[str]]:
    """Return the ``seq`` and the joined text of the next live entries."""
    params: list[str | int] = [row_text.SEAM] * (_COLUMNS - 1)
    params += [workspace_id, after]
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(_GROUPED_SQL, params)
            numbers, grouped = cursor.fetchone()
            seqs, texts = _split(numbers or "", grouped or "")
            if len(seqs) == len(texts):
                return seqs, texts
        cursor.execute(_TEXTS_SQL, params)
        rows = cursor.fetchall()
    return [row[0] for row in rows], [row[1] for row in rows]


def _split(numbers: str, grouped: str) -> tuple[list[int], list[str]]:
    """Split SQLite's grouped values; a NUL inside a text makes the lengths differ."""
    if not numbers:
        return [], []
    return [int(number) for number in numbers.split(",")], grouped.split("\x00")


def of(workspace_id: str, ids: Sequence[str]) -> Iterator[Row]:
    """Yield the entries that are not erased, in order within each batch."""
    return _rows(_BY_ID_SQL, workspace_id, ids)


def _rows(
    sql: str, workspace_id: str, keys: Sequence[str] | Sequence[int]
) -> Iterator[Row]:
    for start in range(0, len(keys), AT_ONCE):
        part = keys[start : start + AT_ONCE]
        places = ", ".join(["%s"] * len(part))
        with connection.cursor() as cursor:
            cursor.execute(f"{sql} ({places})", [workspace_id, *part])
            chunk = sorted(cursor.fetchall())
        yield from map(Row._make, chunk)


def naming(person: Person, after: int = 0) -> Iterator[tuple[int, list[Row]]]:
    """Yield, per chunk, the last ``seq`` read and the entries that name a person."""
    while True:
        seqs, texts = _next_texts(person.workspace_id, after)
        if not seqs:
            return
        after = max(seqs)
        matching_seqs = [seqs[at] for at in person.matcher.among(texts, _as_row_text)]
        rows = _rows(_BY_SEQ_SQL, person.workspace_id, matching_seqs)
        yield after, [row for row in rows if person.matcher.names(row.text)]


def _as_row_text(text: str) -> str | None:
    """Return a joined text as ``Row.text``; None when it contains the seam itself.

    Such a text cannot be split into its columns and is read in full.
    """
    parts = text.split(row_text.SEAM)
    seams = text.count(row_text.SEAM.strip())
    if len(parts) != _COLUMNS or seams != _COLUMNS - 1:
        return None
    return row_text.join_texts(
        (parts[0], *map(name_fields.json_as_text, parts[1:3]), *parts[3:])
    )

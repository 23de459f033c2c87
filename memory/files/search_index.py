"""The word index of memory files: stores chunks, returns ranked chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db import connection

from memory import fulltext
from memory.models import MemoryChunk, MemoryFile
from memory.rules import chunks, tokenizer

SNIPPET_CHARS: Final = 500
TERMS: Final = 32
EARLIER: Final = 2


@dataclass(frozen=True, slots=True)
class ChunkHit:
    """One chunk that matches; ``score`` is higher for better, within one answer."""

    file_id: str
    heading: str
    text: str
    line: int
    score: float


@dataclass(frozen=True, slots=True)
class EarlierChunk:
    """A chunk that comes before another one in its file."""

    id: int
    heading: str
    text: str


def put(file: MemoryFile, text: str) -> None:
    """Replace a file's chunks, by none for ""; runs in the writer's transaction."""
    MemoryChunk.objects.filter(file=file).delete()
    MemoryChunk.objects.bulk_create(
        MemoryChunk(
            workspace_id=file.workspace_id,
            file=file,
            heading=piece.heading,
            text=piece.text,
            line_start=piece.line_start,
            line_end=piece.line_end,
        )
        for piece in chunks.split(text.replace("\x00", " "))
    )


def find(file_ids: Sequence[str], query: str, limit: int) -> list[ChunkHit]:
    """Return the best chunks of the given files: the exact phrase first, terms OR-ed.

    File names are not searched. Words of the query are quoted, never query grammar.
    """
    words = tokenizer.split(query)
    terms = tokenizer.without_stop_words(words)[:TERMS]
    if not terms or not file_ids:
        return []
    phrases = [" ".join(words)] if 2 <= len(words) <= fulltext.MAX_PHRASE else []
    run = _sqlite if fulltext.is_sqlite() else _postgres
    return run(file_ids, [*phrases, *terms], limit)


def _marks(count: int) -> str:
    return ", ".join(["%s"] * count)


def _sqlite(file_ids: Sequence[str], terms: list[str], limit: int) -> list[ChunkHit]:
    match = " OR ".join(fulltext.quote(term) for term in terms)
    sql = (
        "SELECT c.file_id, c.heading, c.text, c.line_start, -chunks_fts.rank"  # noqa: S608
        " FROM chunks_fts CROSS JOIN memory_chunks c ON c.id = chunks_fts.rowid"
        " WHERE chunks_fts MATCH %s"
        f" AND c.file_id IN ({_marks(len(file_ids))})"
        " ORDER BY bm25(chunks_fts, 0.7, 1.0), c.id LIMIT %s"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [match, *file_ids, limit])
        return [ChunkHit(*row) for row in cursor.fetchall()]


def _postgres(file_ids: Sequence[str], terms: list[str], limit: int) -> list[ChunkHit]:
    phrase_query = "phraseto_tsquery('english', journal_fold(%s))"
    query = " || ".join([phrase_query] * len(terms))
    phrases = [term for term in terms if " " in term]
    # 33 brings the rank under one, so that the whole phrase comes before single words.
    boost = "".join([f" + (c.tsv @@ {phrase_query})::int"] * len(phrases))
    sql = (
        f"WITH asked AS (SELECT ({query}) AS q)"  # noqa: S608
        " SELECT c.file_id, c.heading, c.text, c.line_start,"
        f" ts_rank_cd(c.tsv, asked.q, 33)::float8{boost} AS score"
        " FROM memory_chunks c, asked"
        f" WHERE c.tsv @@ asked.q AND c.file_id IN ({_marks(len(file_ids))})"
        " ORDER BY score DESC, c.id LIMIT %s"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [*terms, *phrases, *file_ids, limit])
        return [ChunkHit(*row) for row in cursor.fetchall()]


# ── Context ──────────────────────────────────────────────────────────────────
def earlier(
    workspace_id: str, chunk_ids: Sequence[int]
) -> dict[int, list[EarlierChunk]]:
    """Return id → the up to two chunks before it in its file, the nearest last.

    One query; the first chunk of a file, an unknown id and one of another workspace
    are left out. Who may read a chunk may read its file.
    """
    if not chunk_ids:
        return {}
    marks = _marks(len(chunk_ids))
    sql = (
        "WITH placed AS (SELECT id, file_id, ROW_NUMBER() OVER"  # noqa: S608  (ours)
        " (PARTITION BY file_id ORDER BY line_start, id) AS place"
        " FROM memory_chunks WHERE workspace_id = %s AND file_id IN"
        f" (SELECT file_id FROM memory_chunks WHERE id IN ({marks})))"
        " SELECT asked.id, c.id, c.heading, c.text"
        " FROM placed asked JOIN placed before ON before.file_id = asked.file_id"
        f" AND before.place BETWEEN asked.place - {EARLIER} AND asked.place - 1"
        " JOIN memory_chunks c ON c.id = before.id"
        f" WHERE asked.id IN ({marks}) ORDER BY asked.id, before.place"
    )
    chunks_before: dict[int, list[EarlierChunk]] = {}
    with connection.cursor() as cursor:
        cursor.execute(sql, [workspace_id, *chunk_ids, *chunk_ids])
        for chunk_id, *columns in cursor.fetchall():
            chunks_before.setdefault(chunk_id, []).append(EarlierChunk(*columns))
    return chunks_before

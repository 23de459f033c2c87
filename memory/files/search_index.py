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


@dataclass(frozen=True, slots=True)
class ChunkHit:
    """One chunk that matches; ``score`` is higher for better, within one answer."""

    file_id: str
    heading: str
    text: str
    line: int
    score: float


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

"""The word index of memory files: stores chunks, returns ranked chunks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from django.db import connection

from memory import fulltext
from memory.models import MemoryChunk, MemoryFile
from memory.rules import chunks, convex, tokenizer
from memory.word_index import terms, texts
from memory.word_index.texts import Links, Mask, Scores

SNIPPET_CHARS: Final = 500
EARLIER: Final = 2
# Files with more chunks are not ranked whole; then so many are.
MAX_RANKED: Final = 300
CANDIDATES: Final = 100


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
    """Return the best chunks of the given files; those with the whole phrase first.

    A chunk is found by its words and those of its headings, not by its file's name.
    What counts as a rare word, only the given files say.
    """
    word_query = fulltext.word_query(query)
    if word_query.is_empty or not file_ids:
        return []
    phrase = _phrase(query)
    rows, threads = _pool(file_ids, word_query.terms, phrase)
    chunk_terms = texts.terms_of([f"{row.heading}\n{row.text}" for row in rows])
    links = Links.of(threads, len(rows))
    scores = texts.score(word_query, chunk_terms, links)
    hits = scores.own > 0
    score = _convex(scores, links, hits).total
    # It brings whole phrases before all others, whose scores are below 1.
    sequence = [term for word in phrase for term in terms.of_word(word)]
    score[chunk_terms.holding(sequence)] += 1
    places = sorted(
        np.flatnonzero(hits).tolist(), key=lambda n: (-score[n], rows[n].id)
    )
    return [
        ChunkHit(row.file_id, row.heading, row.text, row.line_start, float(score[n]))
        for n in places[:limit]
        for row in [rows[n]]
    ]


def count(file_ids: Sequence[str], word: str, limit: int) -> int:
    """Return how many chunks of the given files hold a word, at most ``limit``."""
    return len(_candidates(file_ids, [word], limit)) if file_ids else 0


def _convex(scores: Scores, links: Links, hits: Mask) -> convex.PartColumns:
    """Return the parts of scores by words; a file is no conversation."""
    size = len(hits)
    columns = convex.Columns(
        meaning=np.full(size, np.nan),
        words=scores.words.astype(np.float64),
        context=scores.context.astype(np.float64),
        length=scores.length.astype(np.float64),
        importance=np.full(size, convex.NO_IMPORTANCE),
        before=links.before,
        after=links.after,
        thread=np.full(size, -1),
        preference=np.zeros(size),
    )
    return convex.parts(columns, hits, lowest=0.0, highest=0.0)


def _phrase(query: str) -> list[str]:
    """Return the words of a question that is short enough to be a phrase, else none."""
    words = tokenizer.split(query)
    return words if 2 <= len(words) <= fulltext.MAX_PHRASE else []


# ── Candidates ───────────────────────────────────────────────────────────────
class _Row(NamedTuple):
    id: int
    workspace_id: str
    file_id: str
    heading: str
    text: str
    line_start: int


def _pool(
    file_ids: Sequence[str], words: Sequence[str], phrase: Sequence[str]
) -> tuple[list[_Row], list[list[int]]]:
    """Return the chunks to rank, and the places of those that follow each other.

    All of the files' chunks; of very many the best by the database's own ranking, of
    those with the phrase and of those with a word, with the two before each.
    """
    chunks_in_reach = MemoryChunk.objects.filter(file_id__in=file_ids)
    columns = chunks_in_reach.order_by("file_id", "line_start", "id")
    rows = [
        _Row._make(row) for row in columns.values_list(*_Row._fields)[: MAX_RANKED + 1]
    ]
    if len(rows) <= MAX_RANKED:
        places = range(len(rows))
        by_file = itertools.groupby(places, key=lambda n: rows[n].file_id)
        return rows, [list(part) for _, part in by_file]
    candidate_ids = _candidates(file_ids, words, CANDIDATES)
    if phrase:
        candidate_ids += _candidates(file_ids, [" ".join(phrase)], CANDIDATES)
    before = earlier(rows[0].workspace_id, candidate_ids)
    needed_ids = {
        *candidate_ids,
        *(part.id for parts in before.values() for part in parts),
    }
    values = columns.filter(pk__in=needed_ids).values_list(*_Row._fields)
    rows = [_Row._make(row) for row in values]
    place = {row.id: n for n, row in enumerate(rows)}
    previous = {
        place[after]: place[first]
        for chunk_id, parts in before.items()
        for first, after in itertools.pairwise([*(p.id for p in parts), chunk_id])
        # A file may be written anew between the queries.
        if first in place and after in place
    }
    return rows, _chains(previous)


def _chains(previous: dict[int, int]) -> list[list[int]]:
    """Return chains of places from what comes directly before each."""
    following = {first: second for second, first in previous.items()}
    chains = []
    for start in following.keys() - previous.keys():
        chain = [start]
        while chain[-1] in following:
            chain.append(following[chain[-1]])
        chains.append(chain)
    return chains


def _candidates(file_ids: Sequence[str], words: Sequence[str], limit: int) -> list[int]:
    """Return the ids of the best chunks by the database's own ranking."""
    run = _sqlite if fulltext.is_sqlite() else _postgres
    with connection.cursor() as cursor:
        sql, params = run(file_ids, words, limit)
        cursor.execute(sql, params)
        return [chunk_id for (chunk_id,) in cursor.fetchall()]


def _marks(count: int) -> str:
    return ", ".join(["%s"] * count)


def _sqlite(
    file_ids: Sequence[str], words: Sequence[str], limit: int
) -> tuple[str, list[Any]]:
    match = " OR ".join(fulltext.quote(word) for word in words)
    sql = (
        "SELECT c.id FROM chunks_fts"  # noqa: S608
        " CROSS JOIN memory_chunks c ON c.id = chunks_fts.rowid"
        " WHERE chunks_fts MATCH %s"
        f" AND c.file_id IN ({_marks(len(file_ids))})"
        " ORDER BY bm25(chunks_fts, 0.7, 1.0), c.id LIMIT %s"
    )
    return sql, [match, *file_ids, limit]


def _postgres(
    file_ids: Sequence[str], words: Sequence[str], limit: int
) -> tuple[str, list[Any]]:
    query = " || ".join(["phraseto_tsquery('english', journal_fold(%s))"] * len(words))
    sql = (
        f"WITH asked AS (SELECT ({query}) AS q)"  # noqa: S608
        " SELECT c.id FROM memory_chunks c, asked"
        f" WHERE c.tsv @@ asked.q AND c.file_id IN ({_marks(len(file_ids))})"
        " ORDER BY ts_rank_cd(c.tsv, asked.q, 33) DESC, c.id LIMIT %s"
    )
    return sql, [*words, *file_ids, limit]


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

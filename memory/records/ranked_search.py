"""Search records: select the candidates, then rank them by words and by meaning.

The candidates are the caller's own scope, so that a narrow scope is searched completely
and other tenants' words have no weight. A larger scope is limited to its newest part
and to what the journal's vectors and word index find in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from django.db.models import QuerySet

from memory import fulltext, workspace_settings
from memory.files.paths import Owner
from memory.fulltext import WordScope
from memory.models import Record
from memory.ports import ranker
from memory.records import fusion, pool_words
from memory.records.access import owner_for, select
from memory.records.chain import TYPES
from memory.records.fusion import Vectors
from memory.records.pool_words import Candidate
from memory.records.reading import columns_for_filter, facts_of, scan
from memory.records.redaction import is_safe
from memory.records.types import Criteria, Hit, SearchResult
from memory.rules import entries, errors
from memory.rules.fusion import Fusion
from memory.rules.permissions import Actor
from memory.word_index import ranking as word_ranking
from memory.workspace_settings import declarations

LIMIT: Final = 100
POOL_SIZE: Final = 2_000
JOURNAL_LIMIT: Final = 500
QUERY_CHARS: Final = 4_000
MIN_COSINE: Final = fusion.MIN_COSINE


# ── Candidates ───────────────────────────────────────────────────────────────
COLUMNS: Final = Candidate._fields


@dataclass(slots=True)
class _Pool:
    """The candidates of one search, last changed first, and full rows read so far."""

    criteria: Criteria
    by: Actor
    candidates: dict[str, Candidate] = field(default_factory=dict)
    rows: dict[str, Record] = field(default_factory=dict)
    is_cut: bool = False

    def take(self, row: Record) -> None:
        """Add a full row."""
        self.candidates.setdefault(row.id, Candidate.of(row))
        self.rows[row.id] = row

    def read(self, rows: QuerySet[Record], limit: int) -> int:
        """Add those of some rows that pass the filter; return how many were read."""
        columns, holds = columns_for_filter(self.criteria)
        names = (*COLUMNS, *columns)
        rows = rows.annotate(**pool_words.AS_TEXT).order_by("-updated_at", "id")
        rows_read = list(rows.values_list(*names)[:limit])
        size = len(COLUMNS)
        candidates = rows_read
        if holds is not None:
            candidates = [
                row[:size] for row in rows_read if holds(facts_of(columns, row[size:]))
            ]
        self.candidates |= {row[0]: Candidate._make(row) for row in candidates}
        return len(rows_read)

    def load(self, ids: Sequence[str]) -> dict[str, Record]:
        """Return the full rows of some candidates; one deleted meanwhile is missing."""
        unread = [pk for pk in ids if pk not in self.rows]
        if unread:
            rows = select(self.criteria, by=self.by, among=unread)
            self.rows |= {row.id: row for row in rows}
        return {pk: self.rows[pk] for pk in ids if pk in self.rows}


def _newest(criteria: Criteria, by: Actor) -> _Pool:
    """Return the newest matching records; ``is_cut`` when there are more."""
    pool = _Pool(criteria, by)
    if criteria.as_of is None:
        pool.is_cut = pool.read(select(criteria, by=by), POOL_SIZE + 1) > POOL_SIZE
        return pool
    for number, (row, _) in enumerate(scan(criteria, by=by)):
        if number >= POOL_SIZE:
            pool.is_cut = True
            break
        if row is not None:
            pool.take(row)
    return pool


def _add_from_journal(query: str, pool: _Pool) -> None:
    """Add what the journal's vectors and word index find in a large scope."""
    criteria, by = pool.criteria, pool.by
    owner = criteria.owner or (owner_for(by) if by.is_agent else None)
    scope = WordScope(
        workspace_id=by.workspace_id,
        crew_id=owner.crew.id if owner else None,
        entry_types=TYPES,
        embeddable_only=False,
    )
    nearest = ranker.ranker().nearest(
        query, scope, limit=JOURNAL_LIMIT, min_similarity=MIN_COSINE
    )
    word_query = fulltext.word_query(query)
    words = word_ranking.search(word_query, scope, JOURNAL_LIMIT).hits
    entry_ids = {row.current_entry_id for row in pool.candidates.values()}
    ids = ({hit.entry_id for hit in words} | set(nearest or ())) - entry_ids
    if ids:
        rows = Record.objects.order_by().filter(
            workspace_id=by.workspace_id, current_entry_id__in=ids
        )
        pool.read(select(criteria, by=by, among=rows.values("pk")), len(ids))


# ── Ranking ──────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class _Ranked:
    """The ranking of a pool: places (indexes of candidates), best first, with scores.

    ``score`` is fused, ``cosine`` and ``share`` (of the question's words) are not.
    """

    candidates: Sequence[Candidate]
    order: list[int]
    score: Mapping[int, float]
    cosine: Mapping[int, float]
    share: Mapping[int, float]
    degraded: bool = False

    def relevance(self, place: int) -> float:
        """Return the larger of cosine and share, 0..1."""
        best = max(self.share.get(place, 0.0), self.cosine.get(place, 0.0))
        return min(1.0, best)

    def hit(self, place: int, row: Record) -> Hit:
        cosine = self.cosine.get(place)
        return Hit(
            row,
            round(self.score.get(place, 0.0), 4),
            None if cosine is None else round(cosine, 4),
            round(self.relevance(place), 4),
        )


def _vectors(query: str, pool: _Pool) -> Vectors | None:
    """Return the cosines of the candidates; None while the embedder does not answer."""
    entry_ids = [row.current_entry_id for row in pool.candidates.values()]
    meanings = ranker.ranker().meanings(
        query,
        [entry_id for entry_id in entry_ids if entry_id],
        workspace_id=pool.by.workspace_id,
    )
    if meanings is None:
        return None
    # None becomes NaN.
    return Vectors(
        np.array([meanings.cosine.get(e or "") for e in entry_ids], dtype=np.float64),
        np.array([meanings.centred.get(e or "") for e in entry_ids], dtype=np.float64),
    )


def _rank(query: str, pool: _Pool) -> _Ranked:
    """Rank candidates by words and by meaning, and fuse the two."""
    candidates = list(pool.candidates.values())
    words = pool_words.read(query, candidates)
    vectors = _vectors(query, pool)
    method = Fusion(workspace_settings.value(pool.by.workspace_id, declarations.FUSION))
    scores = fusion.fuse(words, vectors, method)
    cosines = [] if vectors is None else vectors.cosine.tolist()
    return _Ranked(
        candidates,
        order=fusion.order(scores),
        score=scores,
        cosine={n: cosine for n, cosine in enumerate(cosines) if cosine == cosine},
        share=dict(enumerate(words.share.tolist())),
        degraded=vectors is None and bool(candidates),
    )


# ── Search ───────────────────────────────────────────────────────────────────
def _check(query: str) -> None:
    entries.check_storable(query)
    if len(query) > QUERY_CHARS:
        raise errors.TooLarge(what="query", limit=QUERY_CHARS, size=len(query))


def _ranked(query: str, criteria: Criteria, by: Actor) -> tuple[_Pool, _Ranked]:
    pool = _newest(criteria, by)
    if not query.strip():
        candidates = list(pool.candidates.values())
        return pool, _Ranked(candidates, list(range(len(candidates))), {}, {}, {})
    if pool.is_cut and criteria.as_of is None:
        _add_from_journal(query, pool)
    return pool, _rank(query, pool)


def search(
    query: str,
    criteria: Criteria,
    *,
    limit: int = 10,
    offset: int = 0,
    min_score: float = 0.0,
    by: Actor,
) -> SearchResult:
    """Return the records that answer a question, best first, by meaning where it can.

    ``min_score`` is the smallest relevance. A blank query lists the matching records,
    newest first. Unsafe records are counted and left out.
    """
    by.require("records.read")
    _check(query)
    pool, ranked = _ranked(query, criteria, by)
    order = ranked.order
    if min_score > 0:
        order = [place for place in order if ranked.relevance(place) >= min_score]
    limit, offset = max(1, min(limit, LIMIT)), max(0, offset)
    hits: list[Hit] = []
    unsafe = passed_over = 0
    for place, row in _loaded(pool, ranked, order, limit + offset):
        if not is_safe(row):
            unsafe += 1
        elif passed_over < offset:
            passed_over += 1
        else:
            hits.append(ranked.hit(place, row))
        if len(hits) == limit:
            break
    return SearchResult(hits, unsafe, ranked.degraded)


def _loaded(
    pool: _Pool, ranked: _Ranked, order: Sequence[int], chunk: int
) -> Iterator[tuple[int, Record]]:
    """Yield places and records, as many at a time as the answer will hold."""
    for start in range(0, len(order), chunk):
        places = order[start : start + chunk]
        part = {ranked.candidates[place].id: place for place in places}
        records = pool.load(list(part))
        yield from (
            (place, records[key]) for key, place in part.items() if key in records
        )


def find(
    query: str,
    *,
    owner: Owner | None,
    kinds: tuple[str, ...] = (),
    limit: int = 10,
    by: Actor,
) -> list[Hit]:
    """Return the best current records, unsafe ones too: the caller must check."""
    pool, ranked = _ranked(query, Criteria(owner=owner, kinds=kinds), by)
    best = ranked.order[: max(1, min(limit, LIMIT))]
    return [ranked.hit(place, row) for place, row in _loaded(pool, ranked, best, LIMIT)]

"""The word ranking on PostgreSQL: candidates from the full-text index, then BM25.

The candidates are the best few hundred entries of a scope by PostgreSQL's own ranking,
and those in whose windows they are; they are scored by their stored words with the
arithmetic and the terms of the other database.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from memory.fulltext import WordHit, WordQuery, WordScope
from memory.rules.entries import RULE_TYPE
from memory.word_index import (
    bare_questions,
    bm25,
    phrases,
    terms,
    thread_sql,
    threads,
)
from memory.word_index.answers import WordDetail
from memory.word_index.bm25 import Floats
from memory.word_index.frequencies import frequencies, head_of
from memory.word_index.rows import stored_words

CANDIDATES: Final = 400
_MATCH: Final = "plainto_tsquery('english', journal_fold(%s))"


def conditions(scope: WordScope) -> tuple[str, list[Any]]:
    """Return the SQL condition over ``e``, the entries, for a scope."""
    where, params = ["e.workspace_id = %s"], [scope.workspace_id]
    alternatives = []
    for column, owner_id in (("crew_id", scope.crew_id), ("agent_id", scope.agent_id)):
        if owner_id is not None:
            alternatives.append(f"e.{column} = %s")
            params.append(owner_id)
    if alternatives:
        if scope.rules_crew_id is not None:
            alternatives.append(
                "(e.crew_id = %s AND e.agent_id IS NULL AND e.entry_type = %s)"
            )
            params += [scope.rules_crew_id, RULE_TYPE]
        where.append(f"({' OR '.join(alternatives)})")
    where.append("e.retired_at IS NULL AND e.restricted_at IS NULL")
    where.append("e.erased_at IS NULL")
    if scope.embeddable_only:
        where.append("e.embeddable")
    values: list[Any] = params
    if scope.entry_types:
        where.append("e.entry_type = ANY(%s)")
        values.append(list(scope.entry_types))
    moments = (
        ("e.ts >= %s", scope.since),
        ("e.ts <= %s", scope.until),
        ("e.recorded_at <= %s", scope.recorded_until),
    )
    for condition, moment in moments:
        if moment is not None:
            where.append(condition)
            values.append(moment)
    return " AND ".join(where), values


@dataclass(frozen=True, slots=True)
class _Entry:
    """What ranks an entry besides its words."""

    docid: int
    entry_id: str
    ts: float
    trace_id: str | None
    asks: bool


@dataclass(frozen=True, slots=True)
class _Scored:
    entry: _Entry
    own: float
    context: float
    length: int


class CandidateAnswer:
    """The answer from candidates; ``WordAnswer`` says what its members are."""

    def __init__(self, query: WordQuery, scope: WordScope, limit: int) -> None:
        self._query, self._scope, self._limit = query, scope, limit
        numbers = terms.of_words(query.terms)
        self._terms = np.array(sorted(numbers), dtype=np.uint32)
        self._words = [query.terms[numbers[term]] for term in sorted(numbers)]

    @cached_property
    def considered(self) -> int:
        where, params = conditions(self._scope)
        sql = f"SELECT count(*) FROM journal_entries e WHERE {where}"  # noqa: S608
        return int(_fetch(sql, params)[0][0])

    @cached_property
    def _weights(self) -> tuple[NDArray[np.float32], float]:
        """Return the weight of each term, and the average length of a text."""
        home = self._scope.workspace_id
        head = head_of(home)
        count, average = frequencies.entries(home, head)
        weights = [
            bm25.idf(count, frequencies.holding(home, word, head))
            for word in self._words
        ]
        return np.array(weights, dtype=np.float32), average

    # ── The best ─────────────────────────────────────────────────────────────
    @cached_property
    def _candidates(self) -> list[_Scored]:
        if self._query.is_empty:
            return []
        where, params = conditions(self._scope)
        sql = (
            f"WITH asked AS (SELECT ({' || '.join([_MATCH] * len(self._query.terms))})"  # noqa: S608
            " AS q) SELECT e.docid FROM journal_entries e, asked"
            f" WHERE e.tsv @@ asked.q AND {where}"
            " ORDER BY ts_rank_cd(e.tsv, asked.q, 33) DESC, e.ts DESC, e.id LIMIT %s"
        )
        size = max(CANDIDATES, 3 * self._limit)
        rows = _fetch(sql, [*self._query.terms, *params, size])
        docids = {docid for (docid,) in rows}
        for links in thread_sql.neighbours(sorted(docids)).values():
            docids.update(links.before, links.after)
        return self._scored(docids)

    @cached_property
    def hits(self) -> list[WordHit]:
        rows = [row for row in self._candidates if row.own > 0]
        rows.sort(key=lambda row: (-row.own, -row.entry.ts, row.entry.entry_id))
        return [WordHit(row.entry.entry_id, row.own) for row in rows[: self._limit]]

    @cached_property
    def context_hits(self) -> list[WordHit]:
        rows = [row for row in self._candidates if row.context > 0]
        rows.sort(key=lambda row: (-row.context, -row.entry.ts, row.entry.entry_id))
        return [WordHit(row.entry.entry_id, row.context) for row in rows[: self._limit]]

    # ── Named entries ────────────────────────────────────────────────────────
    def details(self, entry_ids: Sequence[str]) -> dict[str, WordDetail]:
        docids = [entry.docid for entry in self._visible("e.id", list(entry_ids))]
        links = thread_sql.neighbours(docids)
        neighbour_docids = {
            d for link in links.values() for d in link.nearest if d is not None
        }
        scored = self._scored(neighbour_docids.union(docids))
        ids = {row.entry.docid: row.entry.entry_id for row in scored}
        sides = thread_sql.neighbours(sorted(ids))
        pairs = self._pair_scores(list(ids))
        details = {}
        for row in scored:
            before, after = sides[row.entry.docid].nearest
            trace_id = row.entry.trace_id
            details[row.entry.entry_id] = WordDetail(
                own=row.own,
                pairs=pairs[row.entry.docid],
                context=row.context,
                length=row.length,
                before=ids.get(before or 0),
                after=ids.get(after or 0),
                thread=threads.key(trace_id, None, None) if trace_id else None,
            )
        return details

    def _pair_scores(self, docids: Sequence[int]) -> dict[int, float]:
        weights, _ = self._weights
        by_term = dict(zip(self._terms.tolist(), weights.tolist(), strict=True))
        pairs = phrases.pairs_of(self._query.pairs, lambda t: by_term.get(t, 0.0))
        words = stored_words(docids) if pairs else {}
        no_words = terms.words_of("", "")
        scores = phrases.scores(pairs, [words.get(d, no_words) for d in docids])
        return dict(zip(docids, scores.tolist(), strict=True))

    def _visible(self, column: str, values: list[Any]) -> list[_Entry]:
        """Return those named entries that are in scope."""
        where, params = conditions(self._scope)
        sql = (
            "SELECT e.docid, e.id, EXTRACT(EPOCH FROM e.ts), e.trace_id,"  # noqa: S608
            f" {bare_questions.CONDITION} FROM journal_entries e"
            f" WHERE {column} = ANY(%s) AND {where}"
        )
        rows = _fetch(sql, [values, *params]) if values else []
        return [
            _Entry(docid, key, float(ts), trace, asks)
            for docid, key, ts, trace, asks in rows
        ]

    def _scored(self, docids: set[int]) -> list[_Scored]:
        """Return the scores of those entries that are in scope."""
        links = thread_sql.neighbours(sorted(docids))
        windows = {docid: links[docid].window for docid in docids}
        needed = docids.union(*windows.values())
        entries = {e.docid: e for e in self._visible("e.docid", sorted(needed))}
        places = {docid: place for place, docid in enumerate(entries)}
        counts, lengths = _counts(list(entries), self._terms)
        window_counts = counts.copy()
        scored = [docid for docid in entries if docid in docids]
        for docid in scored:
            window_places = [places[d] for d in windows[docid] if d in places]
            window_counts[places[docid]] += counts[window_places].sum(axis=0)
        own = self._sum(counts, bm25.norms(lengths, self._weights[1])).tolist()
        context = self._sum(window_counts, bm25.WINDOW_NORM).tolist()
        asking = np.array([entry.asks for entry in entries.values()], dtype=np.bool_)
        lengths_said = bare_questions.word_counts(lengths, asking).tolist()
        return [
            _Scored(
                entries[d], own[places[d]], context[places[d]], lengths_said[places[d]]
            )
            for d in scored
        ]

    def _sum(self, counts: NDArray[np.int64], norm: Floats) -> Floats:
        weights, sums = self._weights[0], np.zeros(len(counts), np.float32)
        for place in np.argsort(-weights, kind="stable"):
            sums += bm25.saturation(counts[:, place], norm, float(weights[place]))
        return sums


def _counts(
    docids: Sequence[int], numbers: NDArray[np.uint32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how often each entry holds each term, and how long its text is."""
    words, no_words = stored_words(docids), terms.words_of("", "")
    return terms.counts_of([words.get(docid, no_words) for docid in docids], numbers)


def _fetch(sql: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())

"""The word ranking on PostgreSQL: candidates from the full-text index, then BM25.

The candidates are the best few hundred entries of a scope by PostgreSQL's own ranking,
and for the windows the two after each of them in its thread; they are scored by their
stored words with the arithmetic and the terms of the other database.
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
from memory.word_index import bm25, terms, thread_sql
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


@dataclass(frozen=True, slots=True)
class _Scored:
    entry: _Entry
    own: float
    context: float


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
            docids.update(links.after)
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

    @property
    def highest(self) -> float:
        return self.hits[0].score if self.hits else 0.0

    @property
    def context_highest(self) -> float:
        return self.context_hits[0].score if self.context_hits else 0.0

    # ── Named entries ────────────────────────────────────────────────────────
    def scores(self, entry_ids: Sequence[str]) -> dict[str, tuple[float, float]]:
        entries = self._visible("e.id", list(entry_ids))
        scored = self._scored({entry.docid for entry in entries})
        return {row.entry.entry_id: (row.own, row.context) for row in scored}

    def neighbours(self, entry_ids: Sequence[str]) -> dict[str, list[str]]:
        entries = self._visible("e.id", list(entry_ids))
        links = thread_sql.neighbours([entry.docid for entry in entries])
        neighbour_docids = {docid for link in links.values() for docid in link.nearest}
        visible = {
            e.docid: e.entry_id
            for e in self._visible("e.docid", list(neighbour_docids))
        }
        return {
            entry.entry_id: [
                visible[docid]
                for docid in links[entry.docid].nearest
                if docid in visible
            ]
            for entry in entries
        }

    def _visible(self, column: str, values: list[Any]) -> list[_Entry]:
        """Return those named entries that are in scope."""
        where, params = conditions(self._scope)
        sql = (
            "SELECT e.docid, e.id, EXTRACT(EPOCH FROM e.ts) FROM journal_entries e"  # noqa: S608
            f" WHERE {column} = ANY(%s) AND {where}"
        )
        rows = _fetch(sql, [values, *params]) if values else []
        return [_Entry(docid, entry_id, float(ts)) for docid, entry_id, ts in rows]

    def _scored(self, docids: set[int]) -> list[_Scored]:
        """Return the scores of those entries that are in scope."""
        links = thread_sql.neighbours(sorted(docids))
        before = {docid: links[docid].before for docid in docids}
        needed = docids.union(*before.values())
        entries = {e.docid: e for e in self._visible("e.docid", sorted(needed))}
        places = {docid: place for place, docid in enumerate(entries)}
        counts, lengths = _counts(list(entries), self._terms)
        window_counts, window_lengths = counts.copy(), lengths.copy()
        scored = [docid for docid in entries if docid in docids]
        for docid in scored:
            for earlier in before[docid]:
                if earlier in places:
                    window_counts[places[docid]] += counts[places[earlier]]
                    window_lengths[places[docid]] += lengths[places[earlier]]
        own = self._sum(counts, lengths).tolist()
        context = self._sum(window_counts, window_lengths).tolist()
        return [_Scored(entries[d], own[places[d]], context[places[d]]) for d in scored]

    def _sum(self, counts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Floats:
        weights, average = self._weights
        norm, sums = bm25.norms(lengths, average), np.zeros(len(lengths), np.float32)
        for place in np.argsort(-weights, kind="stable"):
            sums += bm25.saturation(counts[:, place], norm, float(weights[place]))
        return sums


def _counts(
    docids: Sequence[int], numbers: NDArray[np.uint32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how often each entry holds each term, and how long its text is."""
    words = stored_words(docids)
    lists = terms.unpack([words.get(d, terms.words_of("", "")) for d in docids])
    counts = np.zeros((len(docids), len(numbers)), dtype=np.int64)
    if len(numbers):
        at = np.searchsorted(numbers, lists.terms)
        at[at == len(numbers)] = 0
        matches = np.flatnonzero(numbers[at] == lists.terms)
        rows = np.repeat(np.arange(len(docids)), lists.sizes)
        counts[rows[matches], at[matches]] = lists.counts[matches]
    return counts, lists.lengths.astype(np.int64)


def _fetch(sql: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())

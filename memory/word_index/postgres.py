"""The word ranking on PostgreSQL: candidates by their terms, then BM25 of all terms.

Where the candidates are all entries that hold a term, the answer is that of the other
database; otherwise ``pg_candidates`` says which they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np

from memory.fulltext import WordHit, WordQuery, WordScope
from memory.word_index import (
    bare_questions,
    bm25,
    frequencies,
    pg_candidates,
    pg_read,
    pg_rows,
    pg_scope,
    phrases,
    terms,
)
from memory.word_index.answers import WordDetail
from memory.word_index.bm25 import Floats
from memory.word_index.columns import ASKS, TIMED
from memory.word_index.frequencies import Counts
from memory.word_index.pg_rows import Numbers, Rows
from memory.word_index.pg_windows import REACH, Threads
from memory.word_index.threads import AFTER, BEFORE

# Entries whose windows are completed at first, and as many as are at most.
WINDOWS_AT_FIRST: Final = 150
MAX_WINDOWS: Final = 1_200
# Entries are looked up before they are held against the scope: of a small workspace
# among large ones the planner expects so few that it would read all that are in scope.
_NAMED: Final = (
    "(SELECT * FROM journal_entries WHERE workspace_id = %s AND {} = ANY({}) OFFSET 0)"
)
_BY_DOCID: Final = _NAMED.format("docid", "%s::bigint[]")
_BY_ID: Final = _NAMED.format("id", "%s")
# Room for rounding: 32-bit sums in another order.
_MARGIN: Final = 1e-4


class CandidateAnswer:
    """The answer from candidates; ``WordAnswer`` says what its members are."""

    def __init__(
        self,
        query: WordQuery,
        scope: WordScope,
        limit: int,
        also: Sequence[str] = (),
    ) -> None:
        self._query, self._scope, self._limit = query, scope, limit
        # Entries whose details will be asked for: read with those of the ranking.
        self._also = also
        numbers = sorted(terms.of_words(query.terms))
        self._terms = np.array(numbers, dtype=np.uint32)
        self._threads = Threads(scope.workspace_id)
        self._ids: dict[int, str] = {}
        self._sought: set[int] = set()
        self._rows = Rows.empty(len(numbers))

    @cached_property
    def considered(self) -> int:
        where, params = pg_scope.of_entries(self._scope)
        sql = f"SELECT count(*) FROM journal_entries e WHERE {where}"  # noqa: S608
        return int(pg_read.fetch(sql, params)[0][0])

    @cached_property
    def _counts(self) -> Counts:
        keys = [k for keys in pg_candidates.scope_lists(self._scope) for k in keys]
        return frequencies.counts(
            self._scope.workspace_id, [*self._terms.tolist(), *keys]
        )

    @cached_property
    def _weights(self) -> Floats:
        counts = self._counts
        weights = [
            bm25.idf(counts.entries, counts.by_term[term])
            for term in self._terms.tolist()
        ]
        return np.array(weights, dtype=np.float32)

    # ── The best ─────────────────────────────────────────────────────────────
    @cached_property
    def _candidates(self) -> Rows:
        """The candidates that hold a term."""
        if self._query.is_empty or not len(self._terms):
            return self._rows
        rows = pg_candidates.read(self._scope, self._terms, self._counts)
        rows = rows.subset(rows.inside & (rows.counts > 0).any(axis=1))
        self._rows = self._rows.union(rows)
        return rows

    @cached_property
    def hits(self) -> list[WordHit]:
        return self._visible(*self._best_own)

    @cached_property
    def _best_own(self) -> tuple[Rows, Floats]:
        rows = self._candidates
        return self._best(rows, self._own(rows))

    @cached_property
    def context_hits(self) -> list[WordHit]:
        """The best windows; what ``details`` needs of all hits is read with them."""
        rows = self._candidates
        if not len(rows):
            return []
        beside = np.append(self._best_own[0].docid, self._docids_of(self._also))
        best = self._best(*self._best_windows(rows, beside))
        hits = np.append(beside, best[0].docid)
        self._ids_of(self._threads.around(hits, 2, 2))
        return self._visible(*best)

    def _best_windows(self, rows: Rows, beside: Numbers) -> tuple[Rows, Floats]:
        """Return rows in whose windows the most promising of some are, and scores.

        Read is also what stands around those ``beside``.
        """
        bounds = self._bounds(rows)
        order, size = np.argsort(-bounds, kind="stable"), WINDOWS_AT_FIRST
        while True:
            docids = rows.docid[order[:size]]
            self._read_around(np.union1d(docids, beside))
            best, scores = self._windows(docids)
            if size >= min(len(rows), MAX_WINDOWS):
                break
            if len(scores) >= self._limit:
                last = np.partition(scores, -self._limit)[-self._limit]
                if last > bounds[order[size]] + _MARGIN:
                    break
            size *= 2
        return best, scores

    def _bounds(self, rows: Rows) -> Floats:
        """Return a limit of what the windows score that a row is in.

        A window holds no more of the rows than six that follow one another in the
        thread, whatever stands between them.
        """
        order = np.lexsort((rows.docid, rows.ts, rows.thread))
        thread, counts = rows.thread[order], rows.counts[order]
        total = counts.copy()
        for step in range(1, BEFORE + AFTER + 1):
            is_same = ((thread[step:] == thread[:-step]) & (thread[step:] != 0))[
                :, None
            ]
            total[step:] += counts[:-step] * is_same
            total[:-step] += counts[step:] * is_same
        bounds = np.empty(len(rows), dtype=np.float32)
        bounds[order] = self._sum(total, bm25.WINDOW_NORM)
        return bounds

    def _windows(self, docids: Numbers) -> tuple[Rows, Floats]:
        """Return the rows in scope with named ones in their windows, and scores."""
        rows = self._rows
        affected = rows.places(self._threads.around(docids, AFTER, BEFORE))
        affected = affected[affected >= 0]
        affected = affected[rows.inside[affected]]
        counts = self._threads.window_counts(rows, affected)
        return rows.subset(affected), self._sum(counts, bm25.WINDOW_NORM)

    def _read_around(self, docids: Numbers) -> None:
        """Load rows, and all that stand around them."""
        docids = self._threads.unread(docids)
        if not len(docids):
            return
        self._load(docids)
        # What was deleted since it came up has no place.
        places = self._rows.places(docids)
        self._threads.read(self._rows.subset(places[places >= 0]))
        self._load(self._threads.around(docids, REACH, REACH))

    def _load(self, docids: Numbers) -> None:
        unknown = docids[self._rows.places(docids) < 0]
        if len(unknown):
            rows = pg_rows.load(self._scope, unknown.tolist(), self._terms)
            self._rows = self._rows.union(rows)

    def _best(self, rows: Rows, scores: Floats) -> tuple[Rows, Floats]:
        """Return the best rows, ties by newer first."""
        order = np.lexsort((rows.docid, -rows.ts, -scores))
        order = order[scores[order] > 0][: self._limit]
        return rows.subset(order), scores[order]

    def _visible(self, rows: Rows, scores: Floats) -> list[WordHit]:
        """Return the rows that are in scope, ties by newer first and then by id."""
        ids = self._ids_of(rows.docid)
        triples = zip(
            scores.tolist(),
            rows.ts.tolist(),
            map(ids.get, rows.docid.tolist()),
            strict=True,
        )
        visible = [(-score, -ts, key) for score, ts, key in triples if key is not None]
        return [WordHit(key, -score) for score, _, key in sorted(visible)]

    def _ids_of(self, docids: Numbers) -> dict[int, str]:
        """Return the ids of those entries that are in scope, by the journal itself."""
        unknown = [docid for docid in docids.tolist() if docid not in self._sought]
        if unknown:
            self._sought.update(unknown)
            where, params = pg_scope.of_entries(self._scope)
            sql = f"SELECT e.docid, e.id FROM {_BY_DOCID} e WHERE {where}"  # noqa: S608
            array = pg_read.array(unknown)
            named = [self._scope.workspace_id, array]
            self._ids.update(pg_read.fetch(sql, [*named, *params]))
        return self._ids

    def _docids_of(self, entry_ids: Sequence[str]) -> Numbers:
        """Return the docids of those named entries that are in scope."""
        docids = {entry_id: docid for docid, entry_id in self._ids.items()}
        unknown = [entry_id for entry_id in entry_ids if entry_id not in docids]
        if unknown:
            where, params = pg_scope.of_entries(self._scope)
            sql = f"SELECT e.docid, e.id FROM {_BY_ID} e WHERE {where}"  # noqa: S608
            named = [self._scope.workspace_id, unknown]
            rows = dict(pg_read.fetch(sql, [*named, *params]))
            self._ids.update(rows)
            self._sought.update(rows)
            docids.update((entry_id, docid) for docid, entry_id in rows.items())
        present = [docids[entry_id] for entry_id in entry_ids if entry_id in docids]
        return np.unique(np.array(present, dtype=np.int64))

    # ── Named entries ────────────────────────────────────────────────────────
    def details(self, entry_ids: Sequence[str]) -> dict[str, WordDetail]:
        docids = self._docids_of(entry_ids)
        self._read_around(self._threads.unknown(docids))
        neighbours = self._threads.around(docids, 1, 1)
        ids = self._ids_of(self._threads.around(neighbours, 1, 1))
        rows = self._rows
        at = rows.places(neighbours)
        at = at[at >= 0]
        at = at[rows.inside[at]]
        counts = self._threads.window_counts(rows, at)
        windows = self._sum(counts, bm25.WINDOW_NORM)
        return self._details(rows.subset(at), windows, ids)

    def _details(
        self, rows: Rows, windows: Floats, ids: dict[int, str]
    ) -> dict[str, WordDetail]:
        """Return the details of rows that have an id."""
        asking = (rows.flags & ASKS) != 0
        lengths = bare_questions.word_counts(rows.length, asking).tolist()
        threads = np.where(rows.flags & TIMED, 0, rows.thread).tolist()
        own, pairs = self._own(rows).tolist(), self._pairs(rows).tolist()
        before, after = (
            links.of(rows.docid).tolist()
            for links in (self._threads.before, self._threads.after)
        )
        return {
            ids[docid]: WordDetail(
                own=own[place],
                pairs=pairs[place],
                context=float(windows[place]),
                length=lengths[place],
                before=ids.get(before[place]),
                after=ids.get(after[place]),
                thread=threads[place] or None,
            )
            for place, docid in enumerate(rows.docid.tolist())
            if docid in ids
        }

    def _pairs(self, rows: Rows) -> Floats:
        """Return what the pairs of words in rows weigh."""
        numbers, weights = self._terms.tolist(), self._weights.tolist()
        by_term = dict(zip(numbers, weights, strict=True))
        pairs = phrases.pairs_of(self._query.pairs, lambda t: by_term.get(t, 0.0))
        sums = np.zeros(len(rows), dtype=np.float32)
        holds = np.flatnonzero((rows.counts > 0).any(axis=1))
        sums[holds] = phrases.scores(pairs, rows.blobs[holds].tolist())
        return sums

    # ── Scores ───────────────────────────────────────────────────────────────
    def _own(self, rows: Rows) -> Floats:
        return self._sum(rows.counts, bm25.norms(rows.length, self._counts.average))

    def _sum(self, counts: Numbers, norm: Floats) -> Floats:
        weights, sums = self._weights, np.zeros(len(counts), np.float32)
        for place in np.argsort(-weights, kind="stable"):
            sums += bm25.saturation(counts[:, place], norm, float(weights[place]))
        return sums

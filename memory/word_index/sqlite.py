"""The word ranking on SQLite: in this process's arrays."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property

import numpy as np

from memory.fulltext import WordHit, WordQuery, WordScope
from memory.rules.entries import RULE_TYPE
from memory.word_index import bare_questions, owners, phrases, terms
from memory.word_index.answers import WordDetail
from memory.word_index.bm25 import Floats
from memory.word_index.cache import indexes
from memory.word_index.columns import ASKS, EMBEDDABLE, TIMED, USABLE, Mask, Rows
from memory.word_index.index import View
from memory.word_index.owners import Part
from memory.word_index.rows import stored_words
from memory.word_index.scoring import Scorer


def microseconds(moment: datetime) -> int:
    seconds = int(moment.timestamp() // 1)
    return seconds * 1_000_000 + moment.microsecond


def _of_owners(view: View, scope: WordScope) -> Part | None:
    """Return the rows of the crew, the agent and the crew's rules; None for all."""
    columns, size, owned = view.columns, view.size, view.owned
    parts: list[Part] = []
    if scope.crew_id is not None:
        parts.append(owned.of(columns, size, "crew", view.crews.get(scope.crew_id)))
    if scope.agent_id is not None:
        parts.append(owned.of(columns, size, "agent", view.agents.get(scope.agent_id)))
    if parts and scope.rules_crew_id is not None:
        crew = view.crews.get(scope.rules_crew_id)
        parts.append(owned.rules(columns, size, crew, view.types.get(RULE_TYPE)))
    return owners.united(parts, size) if parts else None


def _filters(view: View, scope: WordScope, rows: Rows | slice) -> Mask:
    """Return which of some rows pass everything but who owns them."""
    columns = view.columns
    needed = USABLE | (EMBEDDABLE if scope.embeddable_only else 0)
    mask: Mask = (columns.flags[rows] & needed) == needed
    if scope.entry_types:
        codes = [view.types.get(name) for name in scope.entry_types]
        mask &= np.isin(columns.type[rows], codes)
    if scope.since is not None:
        mask &= columns.ts[rows] >= microseconds(scope.since)
    if scope.until is not None:
        mask &= columns.ts[rows] <= microseconds(scope.until)
    if scope.recorded_until is not None:
        mask &= columns.recorded[rows] <= microseconds(scope.recorded_until)
    return mask


def in_scope(view: View, scope: WordScope) -> Mask:
    """Return which rows of a view a scope may see."""
    part = _of_owners(view, scope)
    if part is not None and part.rows is not None:
        mask = np.zeros(view.size, dtype=np.bool_)
        mask[part.rows[_filters(view, scope, part.rows)]] = True
        return mask
    mask = _filters(view, scope, slice(view.size))
    if part is not None and part.mask is not None:
        mask &= part.mask
    return mask


class ScanAnswer:
    """The answer from one view; ``WordAnswer`` says what its members are."""

    def __init__(self, query: WordQuery, scope: WordScope, limit: int) -> None:
        self._limit = limit
        self._view = view = indexes.view(scope.workspace_id)
        self._mask = in_scope(view, scope)
        self._pairs = query.pairs
        self._numbers = terms.of_words(query.terms)
        self._scorer = Scorer(view, self._mask, list(self._numbers))
        scored_terms = enumerate(self._scorer.terms)
        self._places = {term.number: place for place, term in scored_terms}

    @cached_property
    def hits(self) -> list[WordHit]:
        return self._hits(*self._scorer.best(self._limit))

    @cached_property
    def context_hits(self) -> list[WordHit]:
        return self._hits(*self._scorer.best_windows(self._limit))

    @property
    def considered(self) -> int:
        return self._scorer.considered

    def details(self, entry_ids: Sequence[str]) -> dict[str, WordDetail]:
        columns = self._view.columns
        named_rows = self._in_scope(entry_ids)
        links = (columns.previous, columns.next)
        sides = [self._inside(self._scorer.follow(named_rows, link)) for link in links]
        rows = np.unique(np.concatenate([named_rows, *sides]))
        rows = rows[rows >= 0]
        before, after = (
            self._inside(self._scorer.follow(rows, link)) for link in links
        )
        is_traced = (columns.flags[rows] & TIMED) == 0
        is_asking = (columns.flags[rows] & ASKS) != 0
        scores = self._scorer.named(rows)
        values = zip(
            scores.own.tolist(),
            self._pair_scores(rows, scores.holds).tolist(),
            scores.context.tolist(),
            bare_questions.word_counts(columns.length[rows], is_asking).tolist(),
            self._ids(before),
            self._ids(after),
            (
                thread if traced else None
                for thread, traced in zip(
                    columns.thread[rows].tolist(), is_traced.tolist(), strict=True
                )
            ),
            strict=True,
        )
        ids = self._ids(rows)
        return {
            entry_id: WordDetail(*parts)
            for entry_id, parts in zip(ids, values, strict=True)
            if entry_id is not None
        }

    def _pair_scores(self, rows: Rows, holds: Mask) -> Floats:
        """Return what the pairs of words in rows weigh; ``holds`` says who has them."""
        weights = {term.number: term.weight for term in self._scorer.terms}
        pairs = phrases.pairs_of(self._pairs, lambda term: weights.get(term, 0.0))
        can_hold = np.zeros(len(rows), dtype=np.bool_)
        for pair in pairs:
            can_hold |= self._holding(pair.first, holds, len(rows)) & self._holding(
                pair.second, holds, len(rows)
            )
        places, sums = np.flatnonzero(can_hold), np.zeros(len(rows), dtype=np.float32)
        if len(places):
            docids = self._view.columns.docid[rows[places]].tolist()
            words, no_words = stored_words(docids), terms.words_of("", "")
            texts = [words.get(docid, no_words) for docid in docids]
            sums[places] = phrases.scores(pairs, texts)
        return sums

    def _holding(self, term: int, holds: Mask, count: int) -> Mask:
        """Return which rows hold a term, or may hold one that was not asked for."""
        if (place := self._places.get(term)) is not None:
            held: Mask = holds[place]
            return held
        return np.full(count, term not in self._numbers)

    def _inside(self, rows: Rows) -> Rows:
        """Return rows with −1 for those that are not in scope."""
        return np.where((rows >= 0) & _masked(self._mask, rows), rows, -1)

    def _ids(self, rows: Rows) -> list[str | None]:
        """Return the entry ids of rows, None for −1."""
        return [
            entry_id.decode() if row >= 0 else None
            for row, entry_id in zip(
                rows.tolist(), self._view.columns.ids[rows].tolist(), strict=True
            )
        ]

    def _in_scope(self, entry_ids: Sequence[str]) -> Rows:
        """Return the rows of those named entries that are in scope."""
        rows = self._view.find(entry_ids)
        return rows[(rows >= 0) & _masked(self._mask, rows)]

    def _hits(self, rows: Rows, scores: Floats) -> list[WordHit]:
        ids = [entry_id.decode() for entry_id in self._view.columns.ids[rows].tolist()]
        return [WordHit(*pair) for pair in zip(ids, scores.tolist(), strict=True)]


def _masked(mask: Mask, rows: Rows) -> Mask:
    """Return which rows are in a mask; none is in an empty one."""
    return mask[rows] if len(mask) else np.zeros(len(rows), dtype=np.bool_)


def search(query: WordQuery, scope: WordScope, limit: int) -> ScanAnswer:
    """Return the ranking of a question."""
    return ScanAnswer(query, scope, limit)

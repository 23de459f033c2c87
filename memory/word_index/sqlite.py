"""The word ranking on SQLite: in this process's arrays."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from typing import Final

import numpy as np
from django.db import connection

from memory import fulltext
from memory.fulltext import WordHit, WordQuery, WordScope
from memory.rules.entries import RULE_TYPE
from memory.word_index import terms
from memory.word_index.bm25 import Floats
from memory.word_index.cache import indexes
from memory.word_index.columns import EMBEDDABLE, USABLE, Mask, Rows
from memory.word_index.index import View
from memory.word_index.rows import IDS_AT_ONCE, marks
from memory.word_index.scoring import Scorer

# Neighbours on each side.
SIDE: Final = 2


def _microseconds(moment: datetime) -> int:
    seconds = int(moment.timestamp() // 1)
    return seconds * 1_000_000 + moment.microsecond


def _owner_masks(view: View, scope: WordScope) -> list[Mask]:
    """Return the rows of the crew, of the agent and of the crew's rules, as masks."""
    columns, size = view.columns, view.size
    masks: list[Mask] = []
    if scope.crew_id is not None:
        masks.append(columns.crew[:size] == view.crews.get(scope.crew_id))
    if scope.agent_id is not None:
        masks.append(columns.agent[:size] == view.agents.get(scope.agent_id))
    if masks and scope.rules_crew_id is not None:
        masks.append(
            (columns.type[:size] == view.types.get(RULE_TYPE))
            & (columns.crew[:size] == view.crews.get(scope.rules_crew_id))
            & (columns.agent[:size] == -1)
        )
    return masks


def in_scope(view: View, scope: WordScope) -> Mask:
    """Return which rows of a view a scope may see."""
    columns, size = view.columns, view.size
    needed = USABLE | (EMBEDDABLE if scope.embeddable_only else 0)
    mask: Mask = (columns.flags[:size] & needed) == needed
    masks = _owner_masks(view, scope)
    if masks:
        mask &= np.logical_or.reduce(masks)
    if scope.entry_types:
        codes = [view.types.get(name) for name in scope.entry_types]
        mask &= np.isin(columns.type[:size], codes)
    if scope.since is not None:
        mask &= columns.ts[:size] >= _microseconds(scope.since)
    if scope.until is not None:
        mask &= columns.ts[:size] <= _microseconds(scope.until)
    if scope.recorded_until is not None:
        mask &= columns.recorded[:size] <= _microseconds(scope.recorded_until)
    return mask


def _docids(scope: WordScope, entry_ids: Sequence[str]) -> dict[str, int]:
    """Return the docids of those named entries that are in the workspace."""
    low, high = fulltext.docids(scope.workspace_id)
    docids: dict[str, int] = {}
    with connection.cursor() as cursor:
        for start in range(0, len(entry_ids), IDS_AT_ONCE):
            part = entry_ids[start : start + IDS_AT_ONCE]
            sql = f"SELECT id, docid FROM journal_entries WHERE id IN ({marks(part)})"  # noqa: S608
            cursor.execute(sql, part)
            docids.update(cursor.fetchall())
    return {e: docid for e, docid in docids.items() if low <= docid <= high}


class ScanAnswer:
    """The answer from one view; ``WordAnswer`` says what its members are."""

    def __init__(self, query: WordQuery, scope: WordScope, limit: int) -> None:
        self._scope, self._limit = scope, limit
        self._view = view = indexes.view(scope.workspace_id)
        self._mask = in_scope(view, scope)
        numbers = list(terms.of_words(query.terms))
        self._scorer = Scorer(
            view, self._mask, numbers, is_default=scope.embeddable_only
        )

    @cached_property
    def hits(self) -> list[WordHit]:
        return self._hits(*self._scorer.best(self._limit))

    @cached_property
    def context_hits(self) -> list[WordHit]:
        return self._hits(*self._scorer.best_windows(self._limit))

    @property
    def highest(self) -> float:
        return self.hits[0].score if self.hits else 0.0

    @property
    def context_highest(self) -> float:
        return self.context_hits[0].score if self.context_hits else 0.0

    @property
    def considered(self) -> int:
        return self._scorer.considered

    def scores(self, entry_ids: Sequence[str]) -> dict[str, tuple[float, float]]:
        names, rows = self._in_scope(entry_ids)
        own = self._scorer.own_scores(rows).tolist()
        context = self._scorer.window_scores(rows).tolist()
        return dict(zip(names, zip(own, context, strict=True), strict=True))

    def neighbours(self, entry_ids: Sequence[str]) -> dict[str, list[str]]:
        names, rows = self._in_scope(entry_ids)
        columns = self._view.columns
        neighbour_ids: list[list[str]] = [[] for _ in names]
        before = after = rows
        for _ in range(SIDE):
            before = self._scorer.follow(before, columns.previous)
            after = self._scorer.follow(after, columns.next)
            for side in (before, after):
                for place in np.flatnonzero((side >= 0) & self._mask[side]).tolist():
                    neighbour_ids[place].append(columns.ids[side[place]].decode())
        return dict(zip(names, neighbour_ids, strict=True))

    def _in_scope(self, entry_ids: Sequence[str]) -> tuple[list[str], Rows]:
        """Return the named entries that are in scope, and their rows."""
        docids = _docids(self._scope, list(dict.fromkeys(entry_ids)))
        names = [entry_id for entry_id in entry_ids if entry_id in docids]
        names = list(dict.fromkeys(names))
        rows = self._view.rows(np.array([docids[e] for e in names], dtype=np.int64))
        inside = np.flatnonzero((rows >= 0) & _masked(self._mask, rows))
        return [names[place] for place in inside.tolist()], rows[inside]

    def _hits(self, rows: Rows, scores: Floats) -> list[WordHit]:
        ids = self._view.columns.ids[rows].tolist()
        return [
            WordHit(entry_id.decode(), score)
            for entry_id, score in zip(ids, scores.tolist(), strict=True)
        ]


def _masked(mask: Mask, rows: Rows) -> Mask:
    """Return which rows are in a mask; none is in an empty one."""
    return mask[rows] if len(mask) else np.zeros(len(rows), dtype=np.bool_)


def search(query: WordQuery, scope: WordScope, limit: int) -> ScanAnswer:
    """Return the ranking of a question."""
    return ScanAnswer(query, scope, limit)

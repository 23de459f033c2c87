"""What an answer would be if one entry had another priority.

The rankings and their fusion are computed again over a copy in which only that entry's
importance differs, by the functions that answer questions; nothing is written. Applying
it is the journal's own change of a priority, and the importance follows at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from episodic.index import decay, engine, importance
from episodic.models import Embedding
from episodic.recall import ranking, results
from episodic.recall import search as recall
from episodic.recall.ranking import MIN_RANKING, Rankings
from episodic.recall.request import Mode, Request
from episodic.recall.search import Answer
from episodic.vectors.base import VectorHit
from memory.journal import append as journal
from memory.journal import queries
from memory.models import JournalEntry
from memory.rules import errors
from memory.rules.entries import Priority
from memory.rules.permissions import Actor


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Both orders, best first, without neighbours of hits and beyond the cut.

    ``importance`` is the one in use; ``weighs`` is false where no ranking uses it.
    """

    entry: JournalEntry
    priority: Priority
    importance: float
    expected_importance: float
    before: list[JournalEntry]
    after: list[JournalEntry]
    k: int
    weighs: bool

    @property
    def rank(self) -> int | None:
        """The entry's present rank, also below the cut."""
        return self.ranks(self.before).get(self.entry.id)

    @property
    def expected_rank(self) -> int | None:
        """The rank that it would have."""
        return self.ranks(self.after).get(self.entry.id)

    def ranks(self, order: Sequence[JournalEntry]) -> dict[str, int]:
        """Return the ranks of what an order returns, and the entry's wherever it is."""
        return {
            row.id: rank
            for rank, row in enumerate(order, 1)
            if rank <= self.k or row.id == self.entry.id
        }

    @property
    def effect(self) -> str:
        """What becomes of it: unweighed, absent, enters, leaves, up, down or same."""
        if not self.weighs:
            return "unweighed"
        if self.rank is None and self.expected_rank is None:
            return "absent"
        below_all = len(self.before) + len(self.after) + self.k
        rank, expected = self.rank or below_all, self.expected_rank or below_all
        if (rank <= self.k) != (expected <= self.k):
            return "enters" if expected <= self.k else "leaves"
        if rank == expected:
            return "same"
        return "up" if expected < rank else "down"


def _importance_as(entry: JournalEntry, priority: str) -> float:
    row = Embedding.objects.defer("vector").filter(pk=entry.pk).first()
    if row is None:
        return importance.base(entry.entry_type, entry.severity, priority)
    return decay.value_as(entry, row, priority, timezone.now())


def _dense(answer: Answer, vector: VectorHit) -> list[VectorHit]:
    """Return the dense ranking by cosine × importance with one entry's new product."""
    rankings, size = answer.rankings, max(MIN_RANKING, 3 * answer.request.k)
    assert rankings.vector is not None  # noqa: S101  (there is a product)
    # One more than the ranking holds: an entry that falls out lets the next one in.
    nearest = engine.vectors().search(rankings.vector, rankings.scope, size + 1).hits
    hits = [hit for hit in nearest if hit.entry_id != vector.entry_id]
    ids = [vector.entry_id, *(hit.entry_id for hit in hits)]
    times = dict(JournalEntry.objects.filter(pk__in=ids).values_list("id", "ts"))
    hits = [hit for hit in [vector, *hits] if hit.entry_id in times]
    hits.sort(
        key=lambda h: (-h.score, -times[h.entry_id].timestamp(), h.entry_id),
    )
    return hits[:size]


def _is_in_scope(entry: JournalEntry, answer: Answer) -> bool:
    """Whether the dense ranking may hold an entry."""
    request = answer.request
    is_ranked = entry.embeddable or bool(request.entry_types)
    return is_ranked and answer.reach.sees(entry) and request.matches(entry)


def _with_importance(answer: Answer, entry: JournalEntry, value: float) -> Rankings:
    """Return a copy of the rankings in which one entry's importance is ``value``."""
    rankings = answer.rankings
    ranking.complete_vectors(rankings, [entry.id])
    copy = replace(
        rankings,
        vectors=dict(rankings.vectors),
        importances={**rankings.importances, entry.id: value},
        parts={},
        signals={},
    )
    vector = rankings.vectors.get(entry.id)
    if vector is not None:
        changed = vector._replace(importance=value, score=vector.cosine * value)
        copy.vectors[entry.id] = changed
        is_product = rankings.dense.hits and not ranking.is_convex(answer.request)
        if is_product and _is_in_scope(entry, answer):
            hits = _dense(answer, changed)
            copy.dense = replace(rankings.dense, hits=hits)
            copy.vectors |= {hit.entry_id: hit for hit in hits}
    return copy


def _order(answer: Answer, rankings: Rankings) -> list[JournalEntry]:
    request, scores = answer.request, ranking.fuse(answer.request, rankings)
    hits = results.hits(request, answer.reach, rankings, scores, len(scores))
    return [hit.entry for hit in hits]


def _entry(entry_id: str, by: Actor) -> JournalEntry:
    entry = queries.entry(by, entry_id)
    if entry.erased_at is not None:
        raise errors.NotFound
    return entry


def compute(answer: Answer, entry_id: str, priority: Priority, *, by: Actor) -> WhatIf:
    """Return what an answer would be with an entry's priority; nothing is written."""
    entry = _entry(entry_id, by)
    value = _importance_as(entry, priority.value)
    copy = _with_importance(answer, entry, value)
    request, rankings = answer.request, answer.rankings
    weighs = ranking.is_convex(request) or (
        request.mode is not Mode.SPARSE and not rankings.degraded
    )
    before = results.hits(
        request, answer.reach, rankings, answer.scores, len(answer.scores)
    )
    return WhatIf(
        entry=entry,
        priority=priority,
        importance=rankings.importance(entry.id),
        expected_importance=value,
        before=[hit.entry for hit in before],
        after=_order(answer, copy),
        k=request.k,
        weighs=weighs,
    )


def apply(
    request: Request, entry_id: str, priority: Priority, reason: str, *, by: Actor
) -> WhatIf:
    """Set an entry's priority, and its importance with it; return what is expected."""
    by.require("journal.prioritise")
    answer = recall.search(replace(request, mark=False), by=by)
    expected = compute(answer, entry_id, priority, by=by)
    if expected.entry.priority == priority.value:
        detail = gettext("Its priority is {priority} already; nothing was changed.")
        raise errors.Conflict(
            detail.format(priority=priority.value), code="same_priority"
        )
    with transaction.atomic():
        journal.prioritise(expected.entry, priority, reason, by=by)
        decay.refresh([expected.entry.id])
    return expected

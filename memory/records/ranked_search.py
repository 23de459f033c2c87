"""Searching records: what is wanted first, then ranked by words and by meaning.

The candidates come from the caller's own scope, so a narrow scope is searched whole and
no other tenant's words weigh in. Only a scope too large for that is cut, to what the
journal's ranking and word index find in it and to its newest part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from django.db.models import QuerySet

from memory import fulltext, workspace_settings
from memory.files.paths import Owner
from memory.fulltext import WordScope
from memory.models import Record
from memory.ports import ranker
from memory.records import fusion, similarity
from memory.records.access import owner_for, select
from memory.records.chain import TYPES
from memory.records.reading import asked_for, told_of, walk
from memory.records.redaction import is_safe
from memory.records.types import Found, Hit, Wanted
from memory.rules import entries, errors
from memory.rules.fusion import Fusion
from memory.rules.permissions import Actor
from memory.workspace_settings import declarations

LIMIT: Final = 100
POOL: Final = 2_000
DEEP: Final = 500
QUERY_CHARS: Final = 4_000
FAINT: Final = fusion.FAINT


# ── Candidates ───────────────────────────────────────────────────────────────
# As much of a record as ranking needs, plainly as it is read: a large scope has many.
COLUMNS: Final = ("id", "content", "current_entry_id")
Candidate = tuple[str, str, str | None]
ID: Final = 0
CONTENT: Final = 1
ENTRY: Final = 2


@dataclass(slots=True)
class _Pool:
    """The candidates of one answer, last changed first, and rows read whole anyway."""

    wanted: Wanted
    by: Actor
    these: dict[str, Candidate] = field(default_factory=dict)
    rows: dict[str, Record] = field(default_factory=dict)
    more: bool = False

    def take(self, row: Record) -> None:
        """Add a record that was read whole."""
        one = (row.id, row.content, row.current_entry_id)
        self.these.setdefault(row.id, one)
        self.rows[row.id] = row

    def read(self, rows: QuerySet[Record], most: int) -> int:
        """Add those of some rows that the filter wants; return how many were read."""
        asked, holds = asked_for(self.wanted)
        names = (*COLUMNS, *asked)
        told = list(rows.order_by("-updated_at", "id").values_list(*names)[:most])
        size = len(COLUMNS)
        kept = told
        if holds is not None:
            kept = [row[:size] for row in told if holds(told_of(asked, row[size:]))]
        self.these |= {row[ID]: row for row in kept}
        return len(told)

    def load(self, ids: Sequence[str]) -> dict[str, Record]:
        """Return the records of some candidates; one that just left is not there."""
        missing = [one for one in ids if one not in self.rows]
        if missing:
            found = select(self.wanted, by=self.by, among=missing)
            self.rows |= {row.id: row for row in found}
        return {one: self.rows[one] for one in ids if one in self.rows}


def _newest(wanted: Wanted, by: Actor) -> _Pool:
    """Return the newest records wanted, and whether there are more than these."""
    pool = _Pool(wanted, by)
    if wanted.as_of is None:
        pool.more = pool.read(select(wanted, by=by), POOL + 1) > POOL
        return pool
    for number, (row, _) in enumerate(walk(wanted, by=by)):
        if number >= POOL:
            pool.more = True
            break
        if row is not None:
            pool.take(row)
    return pool


def _elsewhere(query: str, pool: _Pool) -> None:
    """Add what the journal's vectors and word index find in a large scope."""
    wanted, by = pool.wanted, pool.by
    owner = wanted.owner or (owner_for(by) if by.is_agent else None)
    scope = WordScope(
        workspace_id=by.workspace_id,
        crew_id=owner.crew.id if owner else None,
        entry_types=TYPES,
        embeddable_only=False,
    )
    near = ranker.ranker().nearest(query, scope, limit=DEEP, least=FAINT)
    words = fulltext.rank(fulltext.ask(by.workspace_id, query), scope, DEEP)
    known = {one[ENTRY] for one in pool.these.values()}
    ids = ({hit.entry_id for hit in words} | set(near or ())) - known
    if ids:
        rows = Record.objects.order_by().filter(
            workspace_id=by.workspace_id, current_entry_id__in=ids
        )
        pool.read(select(wanted, by=by, among=rows.values("pk")), len(ids))


# ── Ranking ──────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class _Ranked:
    """The hits of a pool, best first, by their place in it; and what is told of each.

    ``score`` is fused, ``cosine`` and ``share`` (of the question's words) are not.
    """

    these: Sequence[Candidate]
    order: list[int]
    score: Mapping[int, float]
    cosine: Mapping[int, float]
    share: Mapping[int, float]
    degraded: bool = False

    def relevance(self, place: int) -> float:
        """Return the better of nearness and share, 0..1."""
        best = max(self.share.get(place, 0.0), self.cosine.get(place, 0.0))
        return min(1.0, best)

    def hit(self, place: int, row: Record) -> Hit:
        """Return a hit as it is told."""
        cosine = self.cosine.get(place)
        return Hit(
            row,
            round(self.score.get(place, 0.0), 4),
            None if cosine is None else round(cosine, 4),
            round(self.relevance(place), 4),
        )


def _cosines(query: str, pool: _Pool) -> dict[int, float] | None:
    """Return place → nearness of the candidates that have a vector."""
    entries_of = [one[ENTRY] for one in pool.these.values()]
    near = ranker.ranker().cosines(
        query, [one for one in entries_of if one], workspace_id=pool.by.workspace_id
    )
    if near is None:
        return None
    return {n: near[one] for n, one in enumerate(entries_of) if one and one in near}


def _rank(query: str, pool: _Pool) -> _Ranked:
    """Rank candidates by words and by meaning, and fuse the two."""
    these = list(pool.these.values())
    told = similarity.by_words(query, [one[CONTENT] for one in these])
    near = _cosines(query, pool)
    how = Fusion(workspace_settings.value(pool.by.workspace_id, declarations.FUSION))
    fused = fusion.fuse({place: pair[0] for place, pair in told.items()}, near, how)
    return _Ranked(
        these,
        order=fusion.order(fused),
        score=fused,
        cosine=near or {},
        share={place: pair[1] for place, pair in told.items()},
        degraded=near is None and bool(these),
    )


# ── Search ───────────────────────────────────────────────────────────────────
def _check(query: str) -> None:
    if not entries.is_storable(query):
        detail = "A text holds a NUL or half a surrogate pair."
        raise errors.Invalid(detail, code="bad_text")
    if len(query) > QUERY_CHARS:
        raise errors.TooLarge(what="query", limit=QUERY_CHARS, size=len(query))


def _asked(query: str, wanted: Wanted, by: Actor) -> tuple[_Pool, _Ranked]:
    pool = _newest(wanted, by)
    if not query.strip():
        these = list(pool.these.values())
        return pool, _Ranked(these, list(range(len(these))), {}, {}, {})
    if pool.more and wanted.as_of is None:
        _elsewhere(query, pool)
    return pool, _rank(query, pool)


def search(
    query: str,
    wanted: Wanted,
    *,
    limit: int = 10,
    offset: int = 0,
    min_score: float = 0.0,
    by: Actor,
) -> Found:
    """Return the records that answer a question, best first, by meaning where it can.

    ``min_score`` is the least relevance. A question without words is the list of what
    is wanted, newest first. What no model may see is counted and left out.
    """
    by.require("records.read")
    _check(query)
    pool, ranked = _asked(query, wanted, by)
    order = ranked.order
    if min_score > 0:
        order = [place for place in order if ranked.relevance(place) >= min_score]
    limit, offset = max(1, min(limit, LIMIT)), max(0, offset)
    shown: list[Hit] = []
    withheld = skipped = 0
    for place, row in _loaded(pool, ranked, order, limit + offset):
        if not is_safe(row):
            withheld += 1
        elif skipped < offset:
            skipped += 1
        else:
            shown.append(ranked.hit(place, row))
        if len(shown) == limit:
            break
    return Found(shown, withheld, ranked.degraded)


def _loaded(
    pool: _Pool, ranked: _Ranked, order: Sequence[int], chunk: int
) -> Iterator[tuple[int, Record]]:
    """Yield places and records, as many at a time as the answer will hold."""
    for start in range(0, len(order), chunk):
        places = order[start : start + chunk]
        part = {ranked.these[place][ID]: place for place in places}
        found = pool.load(list(part))
        yield from ((place, found[key]) for key, place in part.items() if key in found)


def find(
    query: str,
    *,
    owner: Owner | None,
    kinds: tuple[str, ...] = (),
    limit: int = 10,
    by: Actor,
) -> list[Hit]:
    """Return the best current records, safe for a model or not: the caller judges."""
    pool, ranked = _asked(query, Wanted(owner=owner, kinds=kinds), by)
    best = ranked.order[: max(1, min(limit, LIMIT))]
    return [ranked.hit(*one) for one in _loaded(pool, ranked, best, LIMIT)]

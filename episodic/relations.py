"""Edges between entries: written when one is indexed, read both ways.

An entry is linked to at most three older entries of its workspace and crew whose cosine
is 0.80 or more. Reading applies the caller's reach to every neighbour again, because an
edge may lead to another agent's entry.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from django.db import IntegrityError, transaction
from django.db.models import Count, Q

from episodic import engine
from episodic.embedders.base import Vectors
from episodic.models import MemoryRelation
from episodic.scopes import Reach
from episodic.vectors.base import VectorScope
from memory.models import JournalEntry

LEAST_COSINE: Final = 0.80
MOST: Final = 3
ASKED: Final = 32


@dataclass(frozen=True, slots=True)
class Edge:
    """One relation as seen from an entry; ``outward`` when the entry wrote it."""

    neighbour: JournalEntry
    relation: str
    weight: float
    outward: bool


def link(pairs: Sequence[tuple[JournalEntry, Vectors]], model: str) -> int:
    """Write similar edges of freshly indexed entries; return how many were new."""
    ids = [row.id for row, _ in pairs]
    touching = MemoryRelation.objects.filter(Q(src__in=ids) | Q(dst__in=ids))
    before = touching.count()
    for row, vector in pairs:
        # One by one: each counts the edges that the one before it made.
        made = _similar(row, vector, model)
        try:
            with transaction.atomic():
                MemoryRelation.objects.bulk_create(made, ignore_conflicts=True)
        except IntegrityError:
            # An entry left in this moment; an edge to it is nothing to keep.
            continue
    return touching.count() - before


def _similar(row: JournalEntry, vector: Vectors, model: str) -> list[MemoryRelation]:
    """Return edges to the nearest older entries, and from newer ones that came first.

    A backlog is embedded newest first: a newer entry that was indexed before this one
    could not see it then, and gets its edge now while it has fewer than three.
    """
    scope = VectorScope(
        workspace_id=row.workspace_id,
        model=model,
        crew_id=row.crew_id,
        only_crewless=row.crew_id is None,
    )
    near = engine.vectors().nearest(vector, scope, ASKED, LEAST_COSINE)
    cosines = {one.entry_id: one.cosine for one in near if one.entry_id != row.id}
    older = _older(row, list(cosines))
    known, room = _own(row)
    wanted = [other for other in cosines if other in older and other not in known]
    pairs = [(row.id, other) for other in wanted[:room]]
    pairs += [
        (other, row.id) for other in _open([i for i in cosines if i not in older])
    ]
    return [
        MemoryRelation(
            workspace_id=row.workspace_id,
            src_id=src,
            dst_id=dst,
            relation=MemoryRelation.Kind.SIMILAR,
            weight=round(min(1.0, cosines[dst if src == row.id else src]), 6),
        )
        for src, dst in pairs
    ]


def _older(row: JournalEntry, ids: Sequence[str]) -> set[str]:
    """Return which entries come before one: by time, then by place in the chain."""
    before = Q(ts__lt=row.ts) | Q(ts=row.ts, seq__lt=row.seq)
    rows = JournalEntry.objects.filter(before, pk__in=ids)
    return set(rows.values_list("pk", flat=True))


def _own(row: JournalEntry) -> tuple[set[str], int]:
    """Return whom an entry's similar edges lead to, and how many more it may have."""
    rows = MemoryRelation.objects.filter(src=row, relation=MemoryRelation.Kind.SIMILAR)
    known = set(rows.values_list("dst_id", flat=True))
    return known, max(0, MOST - len(known))


def _open(ids: Sequence[str]) -> list[str]:
    """Return which entries have fewer than three similar edges of their own."""
    rows = MemoryRelation.objects.filter(
        src__in=ids, relation=MemoryRelation.Kind.SIMILAR
    )
    counts = dict(rows.values_list("src").annotate(Count("pk")).order_by())
    return [entry_id for entry_id in ids if counts.get(entry_id, 0) < MOST]


def of(entry_ids: Sequence[str], seen: Reach) -> dict[str, list[Edge]]:
    """Return the edges of some entries, strongest first, each neighbour once.

    Neighbours outside the reach, or erased, are left out.
    """
    touching = Q(src__in=entry_ids) | Q(dst__in=entry_ids)
    rows = list(
        MemoryRelation.objects.filter(
            touching, workspace_id=seen.workspace_id
        ).order_by("-weight", "id")
    )
    others = {row.src_id for row in rows} | {row.dst_id for row in rows}
    known = seen.load(sorted(others))
    found: dict[str, list[Edge]] = {entry_id: [] for entry_id in entry_ids}
    for row in rows:
        for own, other, outward in (
            (row.src_id, row.dst_id, True),
            (row.dst_id, row.src_id, False),
        ):
            if own in found and other in known:
                edge = Edge(known[other], row.relation, row.weight, outward)
                _add(found[own], edge)
    return found


@dataclass(frozen=True, slots=True)
class Step:
    """A neighbour reached from a hit; ``via`` names the relation and the hit."""

    entry: JournalEntry
    score: float
    via: str


def walk(
    scores: dict[str, float],
    seen: Reach,
    limit: int,
    wanted: Callable[[JournalEntry], bool],
) -> list[Step]:
    """Return neighbours of scored entries, one step away, best first.

    A neighbour scores what its hit scored times the edge's weight; entries that are
    hits themselves, or that the question does not want, are no neighbours.
    """
    best: dict[str, Step] = {}
    for entry_id, edges in of(list(scores), seen).items():
        for edge in edges:
            row, score = edge.neighbour, scores[entry_id] * edge.weight
            known = best.get(row.id)
            if row.id in scores or not wanted(row):
                continue
            if known is not None and known.score >= score:
                continue
            best[row.id] = Step(row, score, f"{edge.relation}:{entry_id}")
    ordered = sorted(best.values(), key=lambda step: (-step.score, step.entry.id))
    return ordered[:limit]


def _add(edges: list[Edge], edge: Edge) -> None:
    """Add an edge unless the same neighbour is there by the same relation."""
    same = (edge.neighbour.id, edge.relation)
    if all((other.neighbour.id, other.relation) != same for other in edges):
        edges.append(edge)

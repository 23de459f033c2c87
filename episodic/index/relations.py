"""Edges between entries: written when one is indexed, read both ways.

An entry is linked to at most three older entries of its workspace and crew whose cosine
is 0.80 or more. Reading applies the caller's reach to every neighbour again, because an
edge may lead to another agent's entry.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import IntegrityError, transaction
from django.db.models import Q

from episodic.embedders.base import Vectors
from episodic.index import engine
from episodic.models import MemoryRelation
from episodic.scopes import Reach
from episodic.vectors.base import VectorScope
from memory.models import JournalEntry

LEAST_COSINE: Final = 0.80
MAX_LINKS: Final = 3
NEIGHBOURS_READ: Final = 32


@dataclass(frozen=True, slots=True)
class Edge:
    """One relation as seen from an entry; ``outward`` when the entry wrote it."""

    neighbour: JournalEntry
    relation: str
    weight: float
    outward: bool


def link(pairs: Sequence[tuple[JournalEntry, Vectors]], model: str) -> int:
    """Write similar edges of freshly indexed entries; return how many were made.

    All edges are found first and written in one commit: every commit waits for the
    disk, and searching must not block an append.
    """
    cosines = [(row, _cosines(row, vector, model)) for row, vector in pairs]
    edges = _similar([(row, by_id) for row, by_id in cosines if by_id])
    try:
        with transaction.atomic():
            MemoryRelation.objects.bulk_create(edges, ignore_conflicts=True)
    except IntegrityError:
        # An entry was deleted meanwhile; edges to it are dropped.
        edges = _between_present(edges)
        MemoryRelation.objects.bulk_create(edges, ignore_conflicts=True)
    return len(edges)


def _between_present(edges: Sequence[MemoryRelation]) -> list[MemoryRelation]:
    ids = {edge.src_id for edge in edges} | {edge.dst_id for edge in edges}
    rows = JournalEntry.objects.filter(pk__in=ids)
    present = set(rows.values_list("pk", flat=True))
    return [edge for edge in edges if {edge.src_id, edge.dst_id} <= present]


def _cosines(row: JournalEntry, vector: Vectors, model: str) -> dict[str, float]:
    """Return the cosines of the entries that are similar to one, the nearest first."""
    scope = VectorScope(
        workspace_id=row.workspace_id,
        model=model,
        crew_id=row.crew_id,
        only_crewless=row.crew_id is None,
    )
    hits = engine.vectors().nearest(vector, scope, NEIGHBOURS_READ, LEAST_COSINE)
    return {hit.entry_id: hit.cosine for hit in hits if hit.entry_id != row.id}


def _similar(
    similar: Sequence[tuple[JournalEntry, dict[str, float]]],
) -> list[MemoryRelation]:
    """Return edges to the nearest older entries, and from newer ones that came first.

    A backlog is embedded newest first: a newer entry that was indexed before another
    could not see it then, and gets its edge now while it has fewer than three.
    """
    if not similar:
        return []
    edges, ids = list[MemoryRelation](), set[str]()
    for row, cosines in similar:
        ids |= {row.id, *cosines}
    places, targets = _places(ids), _targets(ids)
    for row, cosines in similar:
        own, place = targets[row.id], (row.ts, row.seq)
        older = {e for e in cosines if e in places and places[e] < place}
        fresh = [e for e in cosines if e in older and e not in own]
        pairs = [(row.id, e) for e in fresh[: max(0, MAX_LINKS - len(own))]]
        newer = [e for e in cosines if e not in older and row.id not in targets[e]]
        pairs += [(e, row.id) for e in newer if len(targets[e]) < MAX_LINKS]
        for src, dst in pairs:
            targets[src].add(dst)
            weight = cosines[dst if src == row.id else src]
            edges.append(_edge(row.workspace_id, src, dst, weight))
    return edges


def _edge(workspace_id: str, src_id: str, dst_id: str, weight: float) -> MemoryRelation:
    return MemoryRelation(
        workspace_id=workspace_id,
        src_id=src_id,
        dst_id=dst_id,
        relation=MemoryRelation.Kind.SIMILAR,
        weight=round(min(1.0, weight), 6),
    )


def _targets(ids: Collection[str]) -> dict[str, set[str]]:
    """Return the targets of each entry's similar edges."""
    targets: dict[str, set[str]] = {entry_id: set() for entry_id in ids}
    rows = MemoryRelation.objects.filter(
        src__in=ids, relation=MemoryRelation.Kind.SIMILAR
    )
    for src, dst in rows.values_list("src_id", "dst_id"):
        targets[src].add(dst)
    return targets


def _places(ids: Collection[str]) -> dict[str, tuple[datetime, int]]:
    """Return what entries are ordered by: time, then place in the chain."""
    rows = JournalEntry.objects.filter(pk__in=ids).order_by()
    return {pk: (ts, seq) for pk, ts, seq in rows.values_list("pk", "ts", "seq")}


def of(entry_ids: Sequence[str], reach: Reach) -> dict[str, list[Edge]]:
    """Return the edges of some entries, strongest first, each neighbour once.

    Neighbours outside the reach, or erased, are left out.
    """
    touching = Q(src__in=entry_ids) | Q(dst__in=entry_ids)
    rows = list(
        MemoryRelation.objects.filter(
            touching, workspace_id=reach.workspace_id
        ).order_by("-weight", "id")
    )
    end_ids = {row.src_id for row in rows} | {row.dst_id for row in rows}
    visible = reach.load(sorted(end_ids))
    # The same neighbour by the same relation counts once.
    edges: dict[str, dict[tuple[str, str], Edge]] = {e: {} for e in entry_ids}
    for row in rows:
        for own, other, outward in (
            (row.src_id, row.dst_id, True),
            (row.dst_id, row.src_id, False),
        ):
            if own in edges and other in visible:
                edge = Edge(visible[other], row.relation, row.weight, outward)
                edges[own].setdefault((other, row.relation), edge)
    return {entry_id: list(by_pair.values()) for entry_id, by_pair in edges.items()}


@dataclass(frozen=True, slots=True)
class Step:
    """A neighbour reached from a hit; ``via`` names the relation and the hit."""

    entry: JournalEntry
    score: float
    via: str


def neighbours(
    scores: dict[str, float],
    reach: Reach,
    limit: int,
    accepts: Callable[[JournalEntry], bool],
) -> list[Step]:
    """Return neighbours of scored entries, one step away, best first.

    A neighbour scores what its hit scored times the edge's weight; entries that are
    hits themselves, or that the question does not want, are no neighbours.
    """
    best: dict[str, Step] = {}
    for entry_id, edges in of(list(scores), reach).items():
        for edge in edges:
            row, score = edge.neighbour, scores[entry_id] * edge.weight
            previous = best.get(row.id)
            if row.id in scores or not accepts(row):
                continue
            if previous is not None and previous.score >= score:
                continue
            best[row.id] = Step(row, score, f"{edge.relation}:{entry_id}")
    steps = sorted(best.values(), key=lambda step: (-step.score, step.entry.id))
    return steps[:limit]

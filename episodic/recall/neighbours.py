"""The neighbourhood of one entry: what it is related to, step by step.

The caller's reach is applied to every neighbour: an edge may lead to an entry that the
caller may not see, and then both it and the edge are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from episodic.index import relations
from episodic.scopes import Reach, Scope, reach
from memory.journal import queries
from memory.models import JournalEntry
from memory.rules.permissions import Actor

DEPTH_MOST: Final = 3
NODES_MOST: Final = 200


@dataclass(frozen=True, slots=True)
class Link:
    """A relation as it was written, from the newer entry to the older one."""

    src: str
    dst: str
    relation: str
    weight: float


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Entries with their distance, nearest first, and the edges between them."""

    nodes: list[tuple[JournalEntry, int]]
    edges: list[Link]


def _links(entry_id: str, edges: list[relations.Edge]) -> Iterator[Link]:
    for edge in edges:
        pair = (entry_id, edge.neighbour.id)
        src, dst = pair if edge.outward else pair[::-1]
        yield Link(src, dst, edge.relation, edge.weight)


def _step(
    ring: list[str], nodes: dict[str, tuple[JournalEntry, int]], far: int, scope: Reach
) -> list[Link]:
    """Add what is one step from a ring of entries, and return the edges there."""
    links: list[Link] = []
    for entry_id, edges in relations.of(ring, scope).items():
        for edge in edges:
            if len(nodes) < NODES_MOST:
                nodes.setdefault(edge.neighbour.id, (edge.neighbour, far))
        links += _links(entry_id, edges)
    return [link for link in links if link.src in nodes and link.dst in nodes]


def around(entry_id: str, depth: int = 1, *, by: Actor) -> Neighbourhood:
    """Return what lies up to ``depth`` steps from an entry the caller may read.

    An edge counts once, whichever of its ends it was read from.
    """
    root = queries.entry(by, entry_id)
    own_reach = reach(Scope.CREW_SHARED if by.is_agent else None, None, None, by=by)
    nodes: dict[str, tuple[JournalEntry, int]] = {root.id: (root, 0)}
    edges: dict[tuple[frozenset[str], str], Link] = {}
    ring = [root.id]
    for far in range(1, min(depth, DEPTH_MOST) + 1):
        for link in _step(ring, nodes, far, own_reach):
            edges.setdefault((frozenset((link.src, link.dst)), link.relation), link)
        ring = [node for node, (_, steps) in nodes.items() if steps == far]
    return Neighbourhood(list(nodes.values()), list(edges.values()))

"""The neighbourhood of one entry: what it is related to, step by step.

The caller's reach is applied to every neighbour: an edge may lead to an entry that the
caller may not see, and then both it and the edge are left out.

``around`` lists a neighbourhood for programs; ``graph`` is what a page can draw of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

from django.db.models import Q

from episodic.index import relations
from episodic.models import MemoryRelation
from episodic.scopes import Reach, Scope, reach
from memory.journal import queries
from memory.models import JournalEntry
from memory.rules.permissions import Actor

DEPTH_MOST: Final = 3
NODES_MOST: Final = 200
# Of each step the most that is drawn, and the most edges that are read, the strongest.
NODES_DRAWN: Final = (12, 24)
EDGES_READ: Final = 400


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


@dataclass(frozen=True, slots=True)
class Ring:
    """What lies one step further; ``rest`` counts the entries that are not drawn.

    ``is_capped`` when not all edges were read: there may be more than ``rest``.
    """

    entries: list[JournalEntry]
    rest: int
    is_capped: bool


@dataclass(frozen=True, slots=True)
class Graph:
    """An entry, the rings around it, and the edges between what is drawn.

    Edges come strongest first, each once.
    """

    root: JournalEntry
    rings: list[Ring] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)


def graph(root: JournalEntry, reach: Reach, steps: int = 2) -> Graph:
    """Return the strongest relations around an entry, one or two steps far.

    The caller may read the entry; the reach decides about every other one.
    """
    nodes, seen_ids = {root.id: root}, {root.id}
    rings: list[Ring] = []
    links: dict[tuple[str, str, str], Link] = {}
    around = [root.id]
    for limit in NODES_DRAWN[:steps]:
        ring, ring_links, ids = _ring(around, reach, seen_ids, limit)
        seen_ids |= ids
        links |= {(link.src, link.dst, link.relation): link for link in ring_links}
        if not ring.entries:
            break
        rings.append(ring)
        nodes |= {entry.id: entry for entry in ring.entries}
        around = [entry.id for entry in ring.entries]
    between = [link for link in links.values() if {link.src, link.dst} <= nodes.keys()]
    return Graph(root, rings, sorted(between, key=lambda link: -link.weight))


def _ring(
    around: Collection[str], reach: Reach, seen_ids: Collection[str], limit: int
) -> tuple[Ring, list[Link], set[str]]:
    """Return what is one step from some entries and was not found yet, and the edges.

    The ids are of all that was found, with what is beyond the limit.
    """
    touching = Q(src__in=around) | Q(dst__in=around)
    rows = MemoryRelation.objects.filter(touching, workspace_id=reach.workspace_id)
    values = rows.order_by("-weight", "id").values_list(
        "src_id", "dst_id", "relation", "weight"
    )
    edges = [Link(*row) for row in values[: EDGES_READ + 1]]
    is_capped = len(edges) > EDGES_READ
    del edges[EDGES_READ:]
    # A dict keeps the order: the entry with the strongest edge comes first.
    ends = dict.fromkeys(end for edge in edges for end in (edge.src, edge.dst))
    usable = reach.load([end for end in ends if end not in seen_ids])
    entries = [usable[end] for end in ends if end in usable]
    ring = Ring(entries[:limit], max(0, len(entries) - limit), is_capped)
    return ring, edges, set(usable)

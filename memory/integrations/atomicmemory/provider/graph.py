"""Records as a graph: what they say, whom they name, and the entries they rest on.

Nodes are records, the people they name, and the journal entries that hold each version
(the episodes). Edges say which entry recorded what and how long that held, what was
superseded by what, who is named, and which records speak of the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Final

from memory import records
from memory.files.paths import Owner
from memory.integrations.atomicmemory.contract import types
from memory.integrations.atomicmemory.provider.context_package import plain, short
from memory.integrations.atomicmemory.provider.insights import ALIKE, overlap, telling
from memory.models import Record, SubjectMention
from memory.rules.permissions import Actor

SUMMARY_CHARS: Final = 500


@dataclass(slots=True)
class _Graph:
    nodes: dict[str, types.GraphNode] = field(default_factory=dict)
    edges: dict[str, types.GraphEdge] = field(default_factory=dict)

    def node(self, node: types.GraphNode) -> None:
        self.nodes.setdefault(node.id, node)

    def edge(self, edge: types.GraphEdge) -> None:
        self.edges.setdefault(edge.id, edge)


def _episodes(
    graph: _Graph, record: Record, owner: Owner | None, by: Actor
) -> list[str]:
    """Add the entries behind a record's versions; return their ids."""
    versions = records.history(record.id, owner=owner, by=by)
    ends = [later.created_at for _, later in pairwise(versions)]
    for version, end in zip(versions, [*ends, None], strict=True):
        if not version.entry_id:
            continue
        label = f"{version.event} {version.created_at.date().isoformat()}"
        node = types.GraphNode(
            id=version.entry_id, label=label, summary=short(version.content)
        )
        graph.node(node)
        graph.edge(
            types.GraphEdge(
                id=f"{record.id}>{version.entry_id}",
                fact=f"{version.event} in version {version.number}",
                from_=record.id,
                to=version.entry_id,
                valid_at=version.created_at,
                invalid_at=end,
            )
        )
    return [str(version.entry_id) for version in versions if version.entry_id]


def _people(graph: _Graph, record: Record, entries: Sequence[str]) -> None:
    """Add whom a record's entries name."""
    named = SubjectMention.objects.filter(
        workspace_id=record.workspace_id, entry_id__in=list(entries)
    )
    for mention in named.order_by("folded", "id"):
        person = f"subject:{mention.folded}"
        graph.node(types.GraphNode(id=person, label=plain(mention.alias)))
        graph.edge(
            types.GraphEdge(
                id=f"{record.id}>{person}", fact="names", from_=record.id, to=person
            )
        )


def _alike(graph: _Graph, rows: Sequence[Record]) -> None:
    said = {row.id: telling(row) for row in rows}
    for one, other in combinations(rows, 2):
        score = overlap(said[one.id], said[other.id])
        if score >= ALIKE:
            graph.edge(
                types.GraphEdge(
                    id=f"{one.id}~{other.id}",
                    fact="speak of the same",
                    from_=one.id,
                    to=other.id,
                    score=round(score, 4),
                )
            )


def _record(graph: _Graph, found: records.Hit) -> None:
    record = found.record
    graph.node(
        types.GraphNode(
            id=record.id,
            label=short(record.content),
            summary=plain(record.content)[:SUMMARY_CHARS],
            score=found.score,
        )
    )


def _joined(graph: _Graph, kept: set[str]) -> types.GraphResult:
    """Return the nodes that are kept and the edges between them."""
    return types.GraphResult(
        nodes=[node for node in graph.nodes.values() if node.id in kept],
        edges=[e for e in graph.edges.values() if e.from_ in kept and e.to in kept],
    )


def draw(
    hits: Sequence[records.Hit],
    *,
    part: types.GraphScope | None,
    owner: Owner | None,
    by: Actor,
) -> types.GraphResult:
    """Return the graph around hits; ``part`` is what of it the caller wants.

    ``nodes`` are records and people without edges, ``edges`` the statements between
    those, ``episodes`` the records with the entries they rest on; None is all.
    """
    graph, episodes = _Graph(), set[str]()
    for hit in hits:
        _record(graph, hit)
        entries = _episodes(graph, hit.record, owner, by)
        episodes.update(entries)
        _people(graph, hit.record, entries)
    _alike(graph, [hit.record for hit in hits])
    every = set(graph.nodes)
    if part == "nodes":
        nodes = [n for n in graph.nodes.values() if n.id not in episodes]
        return types.GraphResult(nodes=nodes)
    if part == "edges":
        return _joined(graph, every - episodes)
    if part == "episodes":
        return _joined(graph, episodes | {hit.record.id for hit in hits})
    return _joined(graph, every)

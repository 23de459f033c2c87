"""Records as a graph.

Nodes are records, the people they name, and the journal entries that hold each version
(the episodes). Edges are: an entry recorded a version, valid from and to; a record
names a person; two records are similar.
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
from memory.integrations.atomicmemory.provider.insights import (
    MIN_OVERLAP,
    compared_words,
    overlap,
)
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


def _add_episodes(
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


def _add_people(graph: _Graph, record: Record, entries: Sequence[str]) -> None:
    """Add the people that a record's entries name."""
    mentions = SubjectMention.objects.filter(
        workspace_id=record.workspace_id, entry_id__in=list(entries)
    )
    for mention in mentions.order_by("folded", "id"):
        person = f"subject:{mention.folded}"
        graph.node(types.GraphNode(id=person, label=plain(mention.alias)))
        graph.edge(
            types.GraphEdge(
                id=f"{record.id}>{person}", fact="names", from_=record.id, to=person
            )
        )


def _add_similar(graph: _Graph, rows: Sequence[Record]) -> None:
    words = {row.id: compared_words(row) for row in rows}
    for row, other in combinations(rows, 2):
        score = overlap(words[row.id], words[other.id])
        if score >= MIN_OVERLAP:
            graph.edge(
                types.GraphEdge(
                    id=f"{row.id}~{other.id}",
                    fact="speak of the same",
                    from_=row.id,
                    to=other.id,
                    score=round(score, 4),
                )
            )


def _add_record(graph: _Graph, hit: records.Hit) -> None:
    record = hit.record
    graph.node(
        types.GraphNode(
            id=record.id,
            label=short(record.content),
            summary=plain(record.content)[:SUMMARY_CHARS],
            score=hit.score,
        )
    )


def _subgraph(graph: _Graph, node_ids: set[str]) -> types.GraphResult:
    """Return the given nodes and the edges between them."""
    return types.GraphResult(
        nodes=[node for node in graph.nodes.values() if node.id in node_ids],
        edges=[
            e for e in graph.edges.values() if e.from_ in node_ids and e.to in node_ids
        ],
    )


def draw(
    hits: Sequence[records.Hit],
    *,
    part: types.GraphScope | None,
    owner: Owner | None,
    by: Actor,
) -> types.GraphResult:
    """Return the graph around hits; ``part`` selects what of it.

    ``nodes`` are records and people without edges, ``edges`` the statements between
    those, ``episodes`` the records with the entries they rest on; None is all.
    """
    graph, episodes = _Graph(), set[str]()
    for hit in hits:
        _add_record(graph, hit)
        entries = _add_episodes(graph, hit.record, owner, by)
        episodes.update(entries)
        _add_people(graph, hit.record, entries)
    _add_similar(graph, [hit.record for hit in hits])
    node_ids = set(graph.nodes)
    if part == "nodes":
        nodes = [n for n in graph.nodes.values() if n.id not in episodes]
        return types.GraphResult(nodes=nodes)
    if part == "edges":
        return _subgraph(graph, node_ids - episodes)
    if part == "episodes":
        return _subgraph(graph, episodes | {hit.record.id for hit in hits})
    return _subgraph(graph, node_ids)

"""What a page draws around an entry: which neighbours, which edges, how many."""

from __future__ import annotations

import pytest
from django.utils import timezone

from episodic import scopes
from episodic.models import MemoryRelation
from episodic.recall import neighbours
from episodic.recall.neighbours import Graph
from memory.journal import visibility
from memory.models import JournalEntry
from tests import factories
from tests.world import World


def tie(src: JournalEntry, dst: JournalEntry, weight: float = 0.9, **f: str) -> None:
    fields = {"relation": "similar", **f}
    MemoryRelation.objects.create(
        workspace_id=src.workspace_id, src=src, dst=dst, weight=weight, **fields
    )


def graph(world: World, root: JournalEntry, *, steps: int = 2) -> Graph:
    by = world.actor("viewer")
    return neighbours.graph(root, scopes.reach(None, None, None, by=by), steps)


def ids(rows: list[JournalEntry]) -> list[str]:
    return [row.id for row in rows]


def test_two_steps_both_ways_the_strongest_first(world: World) -> None:
    root, weak, strong, second, third = (world.entry() for _ in range(5))
    tie(root, weak, 0.81)
    tie(strong, root, 1.0, relation="supports")
    tie(weak, second, 0.85)
    tie(second, third, 0.99)
    rows = graph(world, root)
    assert [ids(ring.entries) for ring in rows.rings] == [
        [strong.id, weak.id],
        [second.id],
    ]
    assert [(link.src, link.dst, link.relation) for link in rows.links] == [
        (strong.id, root.id, "supports"),
        (weak.id, second.id, "similar"),
        (root.id, weak.id, "similar"),
    ]
    assert len(graph(world, root, steps=1).rings) == 1


def test_edges_between_neighbours_and_of_two_kinds_are_in_it(world: World) -> None:
    root, left, right = (world.entry() for _ in range(3))
    tie(root, left)
    tie(root, left, 1.0, relation="supports")
    tie(root, right)
    tie(left, right, 0.95)
    assert len(graph(world, root).links) == 4
    assert len(graph(world, root).rings) == 1


def test_what_may_not_be_seen_is_neither_drawn_nor_counted(world: World) -> None:
    root, restricted, erased, behind = (world.entry() for _ in range(4))
    tie(root, restricted)
    tie(restricted, behind)
    tie(root, erased)
    visibility.restrict(world.acme.id, [restricted.id])
    JournalEntry.objects.filter(pk=erased.pk).update(erased_at=timezone.now())
    assert graph(world, root) == Graph(root)


@pytest.mark.sqlite
def test_an_edge_to_another_workspace_is_not_drawn(world: World) -> None:
    """PostgreSQL refuses such a row."""
    root, foreign = world.entry(), world.entry(by="olga")
    MemoryRelation.objects.create(
        workspace=world.acme, src=root, dst=foreign, relation="similar", weight=0.9
    )
    assert graph(world, root) == Graph(root)


def test_an_agent_s_reach_bounds_it(world: World) -> None:
    root, other = world.entry(), world.entry(by="lena")
    tie(root, other)
    own = scopes.reach("own", None, None, by=world.actor("ada"))
    assert neighbours.graph(root, own).rings == []


def test_the_rest_is_counted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    root = world.entry()
    rows = factories.append_many(world.actor("ada"), [f"Row {n}" for n in range(15)])
    for row in rows:
        tie(root, row)
    (ring,) = graph(world, root).rings
    assert (len(ring.entries), ring.rest, ring.is_capped) == (12, 3, False)
    # What is left out of the first ring is no part of the second one either.
    tie(rows[0], rows[14], 0.1)
    assert [ring.rest for ring in graph(world, root).rings] == [3]
    monkeypatch.setattr(neighbours, "EDGES_READ", 13)
    ring = graph(world, root).rings[0]
    assert (len(ring.entries), ring.rest, ring.is_capped) == (12, 1, True)

"""Similar edges: at most three, near enough, new to old, in the crew, both ways."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from episodic import scopes
from episodic.index import relations
from episodic.index import sweep as index
from episodic.models import Embedding, IndexState, MemoryRelation, State
from memory.models import JournalEntry
from tests.world import World

SUMMARY = "The courier lost the parcel on the way to Bergen"


def edges() -> set[tuple[str, str]]:
    return set(MemoryRelation.objects.values_list("src_id", "dst_id"))


def test_an_entry_is_tied_to_three_older_ones_at_most(world: World) -> None:
    rows = [world.indexed(SUMMARY) for _ in range(5)]
    own = MemoryRelation.objects.filter(src=rows[-1])
    assert own.count() == relations.MAX_LINKS
    assert all(edge.weight >= relations.LEAST_COSINE for edge in own)
    order = {row.id: row.seq for row in rows}
    assert all(order[src] > order[dst] for src, dst in edges())


def test_what_is_not_near_is_not_tied(world: World) -> None:
    world.indexed(SUMMARY)
    world.indexed("Quarterly tax filing for Norway")
    assert edges() == set()


def test_another_crew_is_not_tied(world: World) -> None:
    world.indexed(SUMMARY)
    world.indexed(SUMMARY, by="bob")
    assert edges() == set()


def test_a_backlog_embedded_newest_first_ends_with_the_same_kind_of_edges(
    world: World,
) -> None:
    rows = [world.entry(SUMMARY) for _ in range(6)]
    for row in reversed(rows):
        index.discover(world.acme.id)
        index.embed([row.id])
    order = {row.id: row.seq for row in rows}
    assert all(order[src] > order[dst] for src, dst in edges())
    for row in rows:
        assert MemoryRelation.objects.filter(src=row).count() <= relations.MAX_LINKS
    reached = {entry for pair in edges() for entry in pair}
    assert reached == set(order)


def test_indexing_again_adds_nothing(world: World) -> None:
    rows = [world.indexed(SUMMARY) for _ in range(3)]
    before = edges()
    index.embed([row.id for row in rows])
    assert edges() == before


def test_edges_are_read_both_ways_and_once(world: World) -> None:
    old, new = world.indexed(SUMMARY), world.indexed(SUMMARY)
    reach = scopes.reach(None, None, None, by=world.actor("operator"))
    edges = relations.of([old.id, new.id], reach)
    assert [edge.neighbour.id for edge in edges[new.id]] == [old.id]
    assert [edge.neighbour.id for edge in edges[old.id]] == [new.id]
    assert edges[new.id][0].outward
    assert not edges[old.id][0].outward


def test_a_neighbour_outside_the_reach_is_not_shown(world: World) -> None:
    foreign, visible = world.indexed(SUMMARY, by="lena"), world.indexed(SUMMARY)
    assert edges() == {(visible.id, foreign.id)}
    own = scopes.reach("own", None, None, by=world.actor("ada"))
    assert relations.of([visible.id], own)[visible.id] == []


def test_an_entry_that_left_meanwhile_leaves_no_edge(world: World) -> None:
    old = world.indexed(SUMMARY)
    new = world.entry(SUMMARY, ts=timezone.now() + timedelta(seconds=1))
    index.discover(world.acme.id)
    Embedding.objects.filter(pk=old.id).update(state=State.PENDING)
    JournalEntry.objects.filter(pk=old.id).delete()
    index.embed([new.id])
    assert edges() == set()
    assert IndexState.objects.filter(workspace=world.acme).exists()

"""The map of memory as a place of personal data: counted, emptied and verified."""

from __future__ import annotations

from episodic.index import sweep
from episodic.map import compute, points
from episodic.models import MemoryMap
from gdpr.data_map import registry
from tests.gdpr import kit
from tests.world import World

ANNA = kit.ANNA["name"]


def test_the_point_of_an_erased_entry_is_gone(world: World) -> None:
    anna = kit.subject(world)
    row = world.entry(f"{ANNA} wants a refund")
    others = [world.entry(text) for text in ("A tent", "A stove", "A parcel")]
    sweep.sweep()
    compute.compute(world.acme.id)
    holder = registry.by_name("map")
    assert [m.row_id for m in holder.find(registry.person(anna))] == [row.id]
    kit.erase("journal", anna)
    stored = bytes(MemoryMap.objects.get(pk=world.acme.id).points)
    assert row.id.encode() not in stored
    assert sorted(points.present(world.acme.id, [row.id, *[o.id for o in others]])) == (
        sorted(other.id for other in others)
    )
    assert kit.traces(anna, "map") == []


def test_a_point_that_was_left_is_a_trace(world: World) -> None:
    anna = kit.subject(world)
    world.entry(f"{ANNA} wants a refund")
    for text in ("A tent", "A stove", "A parcel"):
        world.entry(text)
    sweep.sweep()
    compute.compute(world.acme.id)
    stored = MemoryMap.objects.get(pk=world.acme.id)
    kit.erase("journal", anna)
    stored.save()
    assert kit.traces(anna, "map") == ["map point"]

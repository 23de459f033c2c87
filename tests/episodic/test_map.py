"""The map of a workspace: computing it, selecting from it, and what leaves it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from episodic.index import snapshot, sweep
from episodic.map import compute, picture, points, projection
from episodic.map.picture import Picture, Selection
from episodic.models import Embedding, MemoryMap
from memory.journal import erasure, visibility
from tests import factories
from tests.episodic import doubles
from tests.world import World

TEXTS = (
    "Refund of the tent was denied",
    "Refund of the stove was denied",
    "The parcel to Bergen is late",
    "The parcel to Oslo is late",
    "A new page for winter boots",
)


@pytest.fixture
def ids(world: World) -> list[str]:
    """Embed some entries of ada's; return their ids in order."""
    # Entries of one millisecond have no order.
    rows = [
        world.entry(text, ts=factories.ago(seconds=len(TEXTS) - number))
        for number, text in enumerate(TEXTS)
    ]
    sweep.sweep()
    return [row.id for row in rows]


def loaded(world: World) -> Picture:
    compute.compute(world.acme.id)
    drawing = picture.load(world.actor("viewer"))
    assert drawing is not None
    return drawing


def test_every_embedded_entry_has_a_point(world: World, ids: list[str]) -> None:
    world.unembedded("Not in the index yet")
    drawing = loaded(world)
    assert sorted(points.ids(drawing.points)) == sorted(ids)
    assert (drawing.indexed, drawing.indexed_now) == (5, 5)


def test_a_map_holds_no_word(world: World, ids: list[str]) -> None:
    loaded(world)
    row = MemoryMap.objects.get(pk=world.acme.id)
    stored_text = bytes(row.points)
    assert len(stored_text) == len(ids) * points.POINT.itemsize
    assert b"efund" not in stored_text
    assert row.crews == [world.crews["support"].id]


def test_two_entries_are_too_few(world: World) -> None:
    world.indexed("One")
    world.indexed("Two")
    assert compute.compute(world.acme.id) == 0
    assert len(loaded(world).points) == 0


def test_above_the_limit_a_sample_is_drawn(
    world: World, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compute, "MOST_POINTS", 4)
    drawing = loaded(world)
    assert len(drawing.points) == 4
    assert drawing.indexed == len(ids)
    assert np.array_equal(drawing.points["id"], loaded(world).points["id"])


def test_one_entry_more_changes_one_point_of_a_sample_at_most(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        world.entry(f"Parcel {number} is late")
    sweep.sweep()
    monkeypatch.setattr(compute, "MOST_POINTS", 10)
    before = points.ids(loaded(world).points)
    assert before == sorted(before)
    for number in range(3):
        world.indexed(f"Refund {number} was denied")
        after = points.ids(loaded(world).points)
        assert len(after) == 10
        assert len(set(before) - set(after)) <= 1
        before = after


@pytest.mark.skipif(connection.vendor != "sqlite", reason="about SQLite's planner")
def test_named_entries_are_read_by_their_ids(world: World, ids: list[str]) -> None:
    with CaptureQueriesContext(connection) as queries:
        loaded(world).groups()
    reads = [q["sql"] for q in queries if ids[0] in q["sql"] and " IN (" in q["sql"]]
    tables = {table for table in ("journal_entries", "journal_embeddings")
              for sql in reads if f'FROM "{table}"' in sql}  # fmt: skip
    assert len(tables) == 2
    with connection.cursor() as cursor:
        for sql in reads:
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
            assert "(workspace_id=?" not in str(cursor.fetchall())


def test_recalled_and_related_entries_are_told_apart(
    world: World, ids: list[str]
) -> None:
    Embedding.objects.filter(pk=ids[0]).update(reference_count=12)
    drawing = loaded(world)
    often = drawing.select(Selection(filters={"recalled": "often"}))
    assert points.ids(drawing.points[often]) == [ids[0]]
    assert drawing.select(Selection(filters={"recalled": "never"})).sum() == 4


def test_filters_a_group_and_an_area_narrow_together(
    world: World, ids: list[str]
) -> None:
    drawing = loaded(world)
    crew = world.crews["support"].id
    assert drawing.select(Selection(filters={"crew": crew, "age": "day"})).all()
    assert not drawing.select(Selection(filters={"crew": "nobody"})).any()
    groups = drawing.groups()
    assert sum(group.count for group in groups) == len(ids)
    first = drawing.select(Selection(group=0))
    assert first.sum() == groups[0].count
    x, y = int(drawing.points["x"][0]), int(drawing.points["y"][0])
    square = ((x - 1, y - 1), (x + 1, y - 1), (x + 1, y + 1), (x - 1, y + 1))
    inside = drawing.select(Selection(area=square))
    assert inside[0]
    assert not inside.all()


def test_entries_are_listed_newest_first(world: World, ids: list[str]) -> None:
    drawing = loaded(world)
    rows = drawing.newest(drawing.select(Selection()))
    assert [entry.id for entry in drawing.entries(rows)] == ids[::-1]


def test_another_workspace_has_no_map(world: World, ids: list[str]) -> None:
    loaded(world)
    assert picture.load(world.actor("stranger")) is None


LEAVING: dict[str, Callable[[World, str], object]] = {
    "erased": lambda world, entry_id: erasure.erase(world.acme.id, [entry_id]),
    "restricted": lambda world, entry_id: visibility.restrict(
        world.acme.id, [entry_id]
    ),
    "retired": lambda world, entry_id: visibility.retire(world.acme.id, [entry_id]),
}


@pytest.mark.parametrize("how", LEAVING)
def test_an_entry_that_leaves_takes_its_point_along(
    world: World, ids: list[str], how: str
) -> None:
    loaded(world)
    LEAVING[how](world, ids[2])
    drawing = picture.load(world.actor("viewer"))
    assert drawing is not None
    assert len(drawing.points) == 4
    stored_text = bytes(MemoryMap.objects.get(pk=world.acme.id).points)
    assert ids[2].encode() not in stored_text
    assert ids[1].encode() in stored_text


def test_an_entry_erased_while_the_map_is_computed_has_no_point(
    world: World, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = projection.layout

    def meanwhile(*parts: Any) -> object:
        erasure.erase(world.acme.id, [ids[2]])
        return layout(*parts)

    monkeypatch.setattr(projection, "layout", meanwhile)
    assert ids[2] not in points.ids(loaded(world).points)


def test_what_never_had_a_vector_leaves_the_map_unread(
    world: World, ids: list[str]
) -> None:
    loaded(world)
    row = world.unembedded("Hidden as soon as it is written")
    with CaptureQueriesContext(connection) as queries:
        visibility.retire(world.acme.id, [row.id])
    assert queries.captured_queries
    assert not [q for q in queries if "memory_maps" in q["sql"]]


def test_the_first_map_waits_for_an_erasure(world: World, ids: list[str]) -> None:
    erasure.erase(world.acme.id, [ids[2]])
    # The row that a computation locks; it is no map.
    assert MemoryMap.objects.filter(pk=world.acme.id).exists()
    assert picture.load(world.actor("viewer")) is None
    assert compute.begin() == 1
    assert ids[2] not in points.ids(loaded(world).points)


def test_a_freed_entry_is_back_with_the_next_map(world: World, ids: list[str]) -> None:
    loaded(world)
    visibility.restrict(world.acme.id, [ids[2]])
    visibility.lift(world.acme.id, [ids[2]])
    assert ids[2] in points.ids(loaded(world).points)


def test_the_first_map_is_computed_once_nothing_waits(
    world: World, ids: list[str]
) -> None:
    row = world.entry("Waits for the index")
    Embedding.objects.create(entry=row, workspace=world.acme, seq=row.seq)
    assert compute.begin() == 0
    sweep.sweep()
    assert compute.begin() == 1
    assert compute.begin() == 0


def test_first_maps_of_all_workspaces_are_looked_for_in_one_query(
    world: World,
) -> None:
    for text in TEXTS[:2]:
        world.indexed(text)
    with CaptureQueriesContext(connection) as queries:
        assert compute.begin() == 0
    assert len(queries) == 1
    world.indexed(TEXTS[2])
    assert compute.begin() == 1


def test_a_map_that_fails_does_not_stop_the_others(
    world: World, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in TEXTS:
        world.entry(text, by="olga")
    sweep.sweep()
    workspace_ids = sorted([world.acme.id, world.other.id])
    load = snapshot.load

    def failing(workspace_id: str) -> object:
        if workspace_id == workspace_ids[0]:
            raise ValueError
        return load(workspace_id)

    monkeypatch.setattr(snapshot, "load", failing)
    assert compute.begin() == 1
    maps = MemoryMap.objects.exclude(computed_at=None)
    assert list(maps.values_list("pk", flat=True)) == workspace_ids[1:]


def test_vectors_of_another_model_are_left_out(
    world: World, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("episodic.index.engine.embedder", doubles.Other)
    assert compute.compute(world.acme.id) == 0

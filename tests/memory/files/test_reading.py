"""Reading and searching for an actor."""

from __future__ import annotations

import pytest

from memory.files import reading
from memory.files.quarantine import HeldForReview
from memory.rules import errors
from memory.rules.tiers import Tier
from tests.memory.files import kit
from tests.memory.files.test_search_index import BROKEN
from tests.world import World


def test_a_file_comes_with_its_facts(world: World) -> None:
    kit.write(world, "mine")
    text = reading.read(kit.owner(world), kit.place("AGENT.md"), by=world.actor("ada"))
    assert (text.text, text.size, text.cap, text.exists) == ("mine", 4, 4_000, True)
    none = reading.read(kit.owner(world), kit.place("pins.md"), by=world.actor("ada"))
    assert (none.text, none.exists, none.sha256) == ("", False, "")


@pytest.mark.parametrize("actor", ["lena", "bob", "olga", "stranger"])
def test_an_agents_own_files_are_its_own(world: World, actor: str) -> None:
    kit.write(world, "mine")
    with pytest.raises(errors.NotFound):
        reading.read(kit.owner(world), kit.place("AGENT.md"), by=world.actor(actor))
    with pytest.raises(errors.NotFound):
        reading.search(kit.owner(world), "mine", by=world.actor(actor))


@pytest.mark.parametrize("actor", ["owner", "operator", "compliance", "viewer"])
def test_people_read_their_workspace(world: World, actor: str) -> None:
    kit.write(world, "mine")
    place = kit.place("AGENT.md")
    assert reading.read(kit.owner(world), place, by=world.actor(actor)).text == "mine"


def test_poison_on_disk_is_never_read(world: World) -> None:
    kit.write(world, "good")
    kit.put(kit.on_disk(world), kit.POISON)
    text = reading.read(kit.owner(world), kit.place("AGENT.md"), by=world.actor("ada"))
    assert text.text == "good"


def test_a_search_merges_own_and_crew_by_score(world: World) -> None:
    kit.write(world, "Gift cards are never refunded.")
    kit.write(
        world, "Gift cards come by courier and other words.", "CREW.md", by="lena"
    )
    result = reading.search(kit.owner(world), "gift cards", by=world.actor("ada"))
    assert {hit.source for hit in result.hits} == {"AGENT.md", "CREW.md"}
    assert result.hits[0].score == 1.0
    assert all(0 < hit.score <= 1 for hit in result.hits)


def test_a_search_sees_no_other_agent(world: World) -> None:
    kit.write(world, "secret of lena", by="lena")
    kit.write(world, "secret of bob", by="bob")
    assert reading.search(kit.owner(world), "secret", by=world.actor("ada")).hits == []


def test_a_search_can_be_of_one_tier(world: World) -> None:
    kit.write(world, "gift")
    kit.write(world, "gift", "pins.md")
    result = reading.search(
        kit.owner(world), "gift", by=world.actor("ada"), tier=Tier.PINS
    )
    assert [hit.source for hit in result.hits] == ["pins.md"]


def test_held_labels_stand_beside_the_hits(world: World) -> None:
    kit.write(world, "gift cards")
    with pytest.raises(HeldForReview):
        kit.write(world, kit.POISON, "pins.md")
    result = reading.search(kit.owner(world), "gift", by=world.actor("ada"))
    assert result.quarantined == ["pins.md"]
    assert [hit.source for hit in result.hits] == ["AGENT.md"]
    assert reading.quarantined(kit.owner(world), kit.place("pins.md"))


def test_a_blank_query_is_refused(world: World) -> None:
    with pytest.raises(errors.Invalid):
        reading.search(kit.owner(world), " \n", by=world.actor("ada"))


@pytest.mark.parametrize("query", [query for query in BROKEN if query.strip()])
def test_no_query_raises(world: World, query: str) -> None:
    kit.write(world, "gift cards")
    result = reading.search(kit.owner(world), query, by=world.actor("ada"))
    assert isinstance(result.hits, list)


@pytest.mark.parametrize(("limit", "expected"), [(0, 20), (-1, 20), (99, 20), (3, 3)])
def test_the_number_of_hits_is_capped(world: World, limit: int, expected: int) -> None:
    text = "\n\n".join(f"# H{n}\ngift {n}" for n in range(30))
    kit.write(world, text, "pins.md")
    result = reading.search(
        kit.owner(world), "gift", by=world.actor("ada"), limit=limit
    )
    assert len(result.hits) == expected


def test_a_snippet_is_short(world: World) -> None:
    kit.write(world, "gift " * 600)
    result = reading.search(kit.owner(world), "gift", by=world.actor("ada"))
    assert all(len(hit.snippet) <= 500 for hit in result.hits)


def test_a_linked_file_is_left_out_of_a_search(world: World, tmp_path: object) -> None:
    kit.write(world, "gift")
    path = kit.on_disk(world)
    path.rename(path.with_name("moved.txt"))
    path.symlink_to(path.with_name("moved.txt"))
    assert reading.search(kit.owner(world), "gift", by=world.actor("ada")).hits == []

"""Owners, paths, and back."""

from __future__ import annotations

import pytest

from memory.files import paths
from memory.files.paths import Owner
from memory.rules import errors
from tests.memory.files import kit
from tests.world import World

LABELS = (
    "AGENT.md",
    "PERSONA.md",
    "pins.md",
    "lessons.md",
    "daily/2026-05-21.md",
    "peers/jane.md",
)


@pytest.mark.parametrize("label", LABELS)
def test_an_agents_path_leads_back_to_it(world: World, label: str) -> None:
    owner, place = kit.owner(world), kit.place(label)
    path = owner.path(place)
    assert path == f"acme/support/agents/ada/{label}"
    assert paths.locate(path.split("/")) == (owner, place)


def test_the_shared_tier_belongs_to_the_crew(world: World) -> None:
    owner, place = kit.owner(world), kit.place("CREW.md")
    assert owner.of(place) == Owner(owner.crew)
    assert owner.of(place).path(place) == "acme/support/shared/CREW.md"
    assert paths.locate("acme/support/shared/CREW.md".split("/")) == (
        Owner(owner.crew),
        place,
    )
    assert owner.of(place).agent_id is None


@pytest.mark.parametrize(
    "path",
    [
        "acme",
        "acme/support",
        "acme/support/shared",
        "acme/support/agents/ada",
        "acme/support/agents",
        "acme/support/shared/AGENT.md",
        "acme/support/agents/ada/CREW.md",
        "acme/support/agents/bob/AGENT.md",
        "acme/support/other/ada/AGENT.md",
        "acme/nothing/agents/ada/AGENT.md",
        "other/billing/agents/bob/AGENT.md",
        "acme/support/agents/ada/topics/x.md",
        "acme/support/agents/ada/peers/x/y.md",
        "acme/support/agents/ada/notes.txt",
    ],
)
def test_a_path_that_is_no_file_of_ours_is_nobodys(world: World, path: str) -> None:
    assert paths.locate(path.split("/")) is None


def test_the_same_agent_name_in_two_workspaces_is_two_trees(world: World) -> None:
    place = kit.place("AGENT.md")
    own, foreign = kit.owner(world, "ada"), kit.owner(world, "olga")
    assert own.path(place) != foreign.path(place)
    assert foreign.workspace_id == world.other.id


def test_a_row_tells_owner_and_place(world: World) -> None:
    kit.write(world, "Ada keeps this.")
    row = kit.row(world)
    assert paths.owner_of(row) == kit.owner(world)
    assert paths.place_of(row) == kit.place("AGENT.md")


def test_a_label_that_names_nothing_is_not_found() -> None:
    with pytest.raises(errors.NotFound):
        paths.refuse_unknown(None)
    assert paths.refuse_unknown(kit.place("pins.md")) == kit.place("pins.md")

"""Whose memory a recall may reach."""

from __future__ import annotations

import pytest

from episodic.scopes import reach
from memory.accounts import workspaces
from memory.rules import errors
from memory.rules.permissions import AgentRole
from tests.world import World


def parts(
    world: World, person: str, **ids: str | None
) -> tuple[str, str | None, str | None]:
    """Return scope, crew and agent of what somebody reaches."""
    visible = reach(
        ids.get("scope"),
        ids.get("crew_id"),
        ids.get("agent_id"),
        by=world.actor(person),
    )
    assert visible.workspace_id == world.actor(person).workspace_id
    return visible.scope, visible.crew_id, visible.agent_id


def test_an_agent_starts_with_its_own_and_a_lead_with_the_crew(world: World) -> None:
    ada, lena, crew = (
        world.agents["ada"].id,
        world.agents["lena"].id,
        world.crews["support"].id,
    )
    assert parts(world, "ada") == ("own", None, ada)
    assert parts(world, "lena") == ("crew_shared", crew, lena)
    assert parts(world, "ada", scope="crew_shared") == ("crew_shared", crew, ada)
    assert parts(world, "lena", scope="own") == ("own", None, lena)


def test_an_agent_may_name_itself_and_its_crew(world: World) -> None:
    ada, crew = world.agents["ada"].id, world.crews["support"].id
    assert parts(world, "ada", crew_id=crew, agent_id=ada) == ("own", None, ada)


def test_an_agent_may_name_nobody_else(world: World) -> None:
    with pytest.raises(errors.Forbidden):
        parts(world, "ada", agent_id=world.agents["lena"].id)
    for ids in (
        {"agent_id": world.agents["bob"].id},
        {"agent_id": world.agents["olga"].id},
        {"agent_id": "agent_0000000000000000"},
        {"crew_id": world.crews["billing"].id},
        {"crew_id": world.crews["other/support"].id},
    ):
        with pytest.raises(errors.NotFound):
            parts(world, "lena", **ids)


@pytest.mark.parametrize("person", ["owner", "operator", "compliance", "viewer"])
def test_a_person_reaches_workspace_crew_or_what_an_agent_would(
    world: World, person: str
) -> None:
    crew, ada, lena = (
        world.crews["support"].id,
        world.agents["ada"].id,
        world.agents["lena"].id,
    )
    assert parts(world, person) == ("workspace", None, None)
    assert parts(world, person, crew_id=crew) == ("crew_shared", crew, None)
    assert parts(world, person, crew_id=crew, scope="crew_shared") == (
        "crew_shared",
        crew,
        None,
    )
    assert parts(world, person, agent_id=ada) == ("own", None, ada)
    assert parts(world, person, agent_id=lena) == ("crew_shared", crew, lena)
    assert parts(world, person, agent_id=ada, scope="crew_shared") == (
        "crew_shared",
        crew,
        ada,
    )


def test_a_person_names_things_that_fit_together(world: World) -> None:
    with pytest.raises(errors.Invalid) as caught:
        parts(world, "viewer", scope="own")
    assert caught.value.problem_code == "scope_needs_agent"
    with pytest.raises(errors.Invalid) as caught:
        parts(
            world,
            "viewer",
            agent_id=world.agents["ada"].id,
            crew_id=world.crews["billing"].id,
        )
    assert caught.value.problem_code == "not_in_crew"


def test_a_scope_of_one_agent_with_a_crew_needs_the_agent(world: World) -> None:
    with pytest.raises(errors.Invalid):
        parts(world, "viewer", scope="own", crew_id=world.crews["support"].id)


@pytest.mark.parametrize("name", ["crew_id", "agent_id"])
def test_a_person_cannot_name_another_workspaces_things(
    world: World, name: str
) -> None:
    foreign = {
        "crew_id": world.crews["other/support"].id,
        "agent_id": world.agents["olga"].id,
    }
    with pytest.raises(errors.NotFound):
        parts(world, "owner", **{name: foreign[name]})


def test_loading_and_seeing_agree(world: World) -> None:
    rows = [world.entry(by=person) for person in ("ada", "lena", "bob", "olga")]
    cases: list[tuple[str, dict[str, str | None]]] = [
        ("ada", {}),
        ("ada", {"scope": "crew_shared"}),
        ("lena", {}),
        ("viewer", {}),
        ("viewer", {"crew_id": world.crews["billing"].id}),
        ("viewer", {"agent_id": world.agents["ada"].id}),
        ("stranger", {}),
    ]
    for person, ids in cases:
        visible = reach(
            ids.get("scope"),
            ids.get("crew_id"),
            ids.get("agent_id"),
            by=world.actor(person),
        )
        inside = set(visible.load([row.pk for row in rows]))
        assert {row.pk for row in rows if visible.sees(row)} == inside


def test_the_walk_depth_is_the_agents(world: World) -> None:
    workspaces.change_agent(
        world.agents["ada"], by=world.actor("owner"), role=AgentRole.AGENT, walk_depth=1
    )
    assert reach(None, None, None, by=world.actor("ada")).walk_depth == 1
    assert (
        reach(None, None, world.agents["ada"].id, by=world.actor("viewer")).walk_depth
        == 1
    )
    assert reach(None, None, None, by=world.actor("viewer")).walk_depth == 0

"""Whose memory a recall may reach."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.utils import timezone

from episodic.scopes import Reach, reach
from memory.accounts import workspaces
from memory.models import JournalEntry
from memory.rules import errors
from memory.rules.entries import RULE_TYPE
from memory.rules.permissions import AgentRole, KeyScope
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


@pytest.mark.parametrize(
    ("person", "ids", "authors"),
    [
        ("ada", {}, "ada"),
        ("ada", {"scope": "crew_shared"}, "ada lena"),
        ("lena", {}, "ada lena"),
        ("lena", {"scope": "own"}, "lena"),
        ("viewer", {}, "ada lena bob"),
        ("viewer", {"crew_id": "billing"}, "bob"),
        ("viewer", {"agent_id": "ada"}, "ada"),
        ("stranger", {}, "olga"),
    ],
)
def test_only_what_is_in_reach_is_loaded(
    world: World, person: str, ids: dict[str, str], authors: str
) -> None:
    rows = {name: world.entry(by=name) for name in ("ada", "lena", "bob", "olga")}
    crew, agent = ids.get("crew_id"), ids.get("agent_id")
    visible = reach(
        ids.get("scope"),
        world.crews[crew].id if crew else None,
        world.agents[agent].id if agent else None,
        by=world.actor(person),
    )
    expected = {rows[name].id for name in authors.split()}
    assert set(visible.load([row.id for row in rows.values()])) == expected
    assert {row.id for row in rows.values() if visible.sees(row)} == expected


@pytest.mark.parametrize("column", ["erased_at", "retired_at", "restricted_at"])
def test_only_what_may_be_used_and_was_asked_for_is_loaded(
    world: World, column: str
) -> None:
    row, other, unasked = (world.entry() for _ in range(3))
    visible = reach(None, None, None, by=world.actor("viewer"))
    assert set(visible.load([row.id, other.id])) == {row.id, other.id}
    JournalEntry.objects.filter(pk=row.pk).update(**{column: timezone.now()})
    assert set(visible.load([row.id, other.id])) == {other.id}
    assert visible.sees(unasked)


def test_the_rules_of_the_crew_belong_to_its_agents_and_nothing_else_of_it() -> None:
    own = Reach("ws_1", "own", agent_id="ag_1", rules_crew_id="c_1")
    rule = {
        "workspace_id": "ws_1", "entry_type": RULE_TYPE, "crew_id": "c_1",
        "agent_id": None, "payload_text": '{"rules_count": 2}',
    }  # fmt: skip
    assert own.sees(JournalEntry(**rule))
    assert own.sees(JournalEntry(**rule | {"payload_text": "{}"}))
    for other in (
        {"workspace_id": "ws_2"},
        {"entry_type": "peer.note"},
        {"crew_id": "c_2"},
        {"crew_id": None},
        {"agent_id": "ag_2"},
        {"payload_text": '{"rules_count": 0}'},
    ):
        assert not own.sees(JournalEntry(**rule | other)), other
    without = replace(own, rules_crew_id=None)
    assert not without.sees(JournalEntry(**rule))
    assert not without.sees(JournalEntry(**rule | {"crew_id": None}))
    mine = {"agent_id": "ag_1", "entry_type": "peer.note", "crew_id": "c_2"}
    assert without.sees(JournalEntry(**rule | mine))


@pytest.mark.parametrize("scope", [None, "own", "crew_shared"])
def test_an_agent_has_the_rules_of_its_crew_in_every_scope(
    world: World, scope: str | None
) -> None:
    ada, crew = world.agents["ada"].id, world.crews["support"].id
    for person, agent in (("ada", None), ("viewer", ada)):
        visible = reach(scope, None, agent, by=world.actor(person))
        assert visible.rules_crew_id == crew
    assert reach(None, crew, None, by=world.actor("viewer")).rules_crew_id is None


def test_a_key_that_may_not_read_recalls_as_nobody(world: World) -> None:
    ada = world.agents["ada"].id
    writer = replace(world.actor("owner"), scopes=frozenset({KeyScope.WRITE}))
    with pytest.raises(errors.Forbidden):
        reach(None, None, ada, by=writer)


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

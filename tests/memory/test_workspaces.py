"""Workspaces, crews, agents and members: created once, each change recorded."""

from __future__ import annotations

import pytest

from memory.accounts import workspaces
from memory.models import Agent, JournalEntry, Membership, Workspace
from memory.rules import errors
from memory.rules.permissions import AgentRole, Role, system
from tests.world import World


def entry_count(world: World, entry_type: str) -> int:
    """Return the number of acme's journal entries of a type."""
    rows = JournalEntry.objects.filter(workspace=world.acme, entry_type=entry_type)
    return rows.count()


def test_a_workspace_is_made_once(world: World) -> None:
    second, is_new = workspaces.ensure_workspace("acme", "Another name")
    assert (second, is_new, second.name) == (world.acme, False, "Acme")
    fresh, is_new = workspaces.ensure_workspace("third")
    assert is_new
    assert fresh.number == max(world.acme.number, world.other.number) + 1
    assert JournalEntry.objects.filter(workspace=fresh).count() == 1


@pytest.mark.parametrize(
    "slug", ["", "A", "-a", "a-", "a_b", "a b", "é", "a" * 65, "../a", "a\n", "a\x00"]
)
def test_a_slug_is_lower_case_letters_digits_and_dashes(
    world: World, slug: str
) -> None:
    before = Workspace.objects.count()
    with pytest.raises(errors.Invalid):
        workspaces.ensure_workspace(slug)
    with pytest.raises(errors.Invalid):
        workspaces.ensure_crew(slug, by=world.system())
    with pytest.raises(errors.Invalid):
        workspaces.ensure_agent(slug, world.crews["support"], by=world.system())
    assert Workspace.objects.count() == before


@pytest.mark.parametrize("slug", ["a", "a1", "a-b", "a" * 64])
def test_slugs_that_fit(world: World, slug: str) -> None:
    crew, is_new = workspaces.ensure_crew(slug, by=world.system())
    assert is_new
    assert crew.slug == slug


def test_the_same_slugs_live_in_two_workspaces(world: World) -> None:
    assert world.crews["support"].slug == world.crews["other/support"].slug
    assert world.crews["support"].pk != world.crews["other/support"].pk


def test_crews_and_agents_are_made_once_and_told_once(world: World) -> None:
    crews, agents = (
        entry_count(world, "crew.created"),
        entry_count(world, "agent.created"),
    )
    crew, is_new = workspaces.ensure_crew("support", by=world.system())
    assert (crew.pk, is_new) == (world.crews["support"].pk, False)
    agent, is_new = workspaces.ensure_agent(
        "ada", crew, by=world.system(), role=AgentRole.LEAD
    )
    assert (agent.role, is_new) == ("AGENT", False)
    assert entry_count(world, "crew.created") == crews
    assert entry_count(world, "agent.created") == agents


def test_an_agent_can_be_changed_by_an_admin(world: World) -> None:
    owner = world.actor("owner")
    agent = world.agents["ada"]
    workspaces.change_agent(agent, by=owner, role=AgentRole.LEAD, walk_depth=1)
    agent.refresh_from_db()
    assert (agent.role, agent.memory_walk_depth) == ("LEAD", 1)
    assert entry_count(world, "agent.changed") == 1
    with pytest.raises(errors.Invalid):
        workspaces.change_agent(agent, by=owner, role=AgentRole.LEAD, walk_depth=2)


@pytest.mark.parametrize("user", ["operator", "viewer", "compliance", "ada", "looker"])
def test_only_admins_change_who_there_is(world: World, user: str) -> None:
    actor = world.actor(user)
    count = Agent.objects.count()
    with pytest.raises(errors.Forbidden):
        workspaces.ensure_crew("new", by=actor)
    with pytest.raises(errors.Forbidden):
        workspaces.ensure_agent("new", world.crews["support"], by=actor)
    with pytest.raises(errors.Forbidden):
        workspaces.set_member(world.people["viewer"], Role.ADMIN, by=actor)
    assert Agent.objects.count() == count


def test_an_admin_of_another_workspace_finds_nothing_here(world: World) -> None:
    stranger = world.actor("stranger")
    with pytest.raises(errors.NotFound):
        workspaces.ensure_agent("new", world.crews["support"], by=stranger)
    with pytest.raises(errors.NotFound):
        workspaces.change_agent(
            world.agents["ada"], by=stranger, role=AgentRole.LEAD, walk_depth=0
        )
    member = Membership.objects.get(user=world.people["viewer"])
    with pytest.raises(errors.NotFound):
        workspaces.remove_member(member, by=stranger)


def test_the_last_admin_stays_admin(world: World) -> None:
    owner, actor = world.people["owner"], world.actor("owner")
    with pytest.raises(errors.Conflict) as caught:
        workspaces.set_member(owner, Role.VIEWER, by=actor)
    assert caught.value.problem_code == "last_admin"
    with pytest.raises(errors.Conflict):
        workspaces.remove_member(Membership.objects.get(user=owner), by=actor)
    workspaces.set_member(world.people["operator"], Role.ADMIN, by=actor)
    workspaces.set_member(owner, Role.VIEWER, by=actor)
    assert Membership.objects.get(user=owner).role == "viewer"


def test_people_have_one_address_however_it_is_written(world: World) -> None:
    user, is_new = workspaces.ensure_user(" Viewer@ACME.example ")
    assert (user.pk, is_new) == (world.people["viewer"].pk, False)


def test_a_person_without_a_password_cannot_sign_in_with_one(world: World) -> None:
    user, _ = workspaces.ensure_user("new@acme.example")
    assert not user.has_usable_password()
    assert not user.check_password("")


def test_roles_in_two_workspaces_do_not_mix(world: World) -> None:
    viewer = world.people["viewer"]
    workspaces.set_member(viewer, Role.ADMIN, by=system(world.other.id))
    assert world.actor("viewer").role is Role.VIEWER

"""Keys: issue, authenticate, limits, expiry, revocation, the member's role."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from memory.accounts import api_keys, workspaces
from memory.models import Agent, AgentKey, JournalEntry, Membership, OperatorKey, User
from memory.rules import errors
from memory.rules.permissions import AgentRole, KeyScope, Role
from tests.world import World


def test_a_key_is_long_and_only_its_digest_rests(world: World) -> None:
    issued = api_keys.issue_agent_key(world.agents["ada"], by=world.actor("owner"))
    assert issued.token.startswith("cmk_")
    assert len(issued.token) == 47
    row = AgentKey.objects.filter(pk=issued.key.pk).values().get()
    assert issued.token not in str(row)
    assert issued.token[12:] not in str(list(JournalEntry.objects.values()))
    assert row["prefix"] == issued.token[:12]


def test_an_agents_key_is_the_agent(world: World) -> None:
    actor = api_keys.authenticate(world.tokens["lena"])
    assert actor is not None
    assert (actor.role, actor.agent_role) == (Role.AGENT, AgentRole.LEAD)
    assert (actor.id, actor.crew_id) == (
        world.agents["lena"].id,
        world.crews["support"].id,
    )
    assert actor.workspace_id == world.acme.id


@pytest.mark.parametrize(
    "token",
    ["", "cmk_", "cmk_" + "x" * 43, "x", "cmk_é", "cmk_" + "x" * 200, "cmk_\x00"],
)
def test_nobody_is_behind_a_made_up_key(world: World, token: str) -> None:
    assert api_keys.authenticate(token) is None


@pytest.mark.parametrize("user", ["expired", "revoked"])
def test_a_key_that_ended_opens_nothing(world: World, user: str) -> None:
    assert api_keys.authenticate(world.tokens[user]) is None
    assert (
        AgentKey.objects.get(digest=api_keys.digest(world.tokens[user])).state == user
    )


def test_a_revoked_key_is_useless_at_once_and_stays_so(world: World) -> None:
    owner = world.actor("owner")
    issued = api_keys.issue_agent_key(world.agents["ada"], by=owner)
    api_keys.revoke(issued.key, by=owner)
    assert api_keys.authenticate(issued.token) is None
    when = AgentKey.objects.get(pk=issued.key.pk).revoked_at
    api_keys.revoke(issued.key, by=owner)
    assert AgentKey.objects.get(pk=issued.key.pk).revoked_at == when
    entries = JournalEntry.objects.filter(
        entry_type="key.revoked", summary__contains=issued.key.prefix
    )
    assert entries.count() == 1


def test_the_last_use_is_written_at_most_once_a_minute(world: World) -> None:
    key = AgentKey.objects.get(digest=api_keys.digest(world.tokens["ada"]))
    api_keys.authenticate(world.tokens["ada"])
    key.refresh_from_db()
    first = key.last_used_at
    assert first is not None
    api_keys.authenticate(world.tokens["ada"])
    key.refresh_from_db()
    assert key.last_used_at == first
    early = first - timedelta(seconds=61)
    AgentKey.objects.filter(pk=key.pk).update(last_used_at=early)
    api_keys.authenticate(world.tokens["ada"])
    key.refresh_from_db()
    assert key.last_used_at is not None
    assert key.last_used_at >= first


def test_a_key_that_did_not_change_is_looked_up_with_one_query(
    world: World, django_assert_num_queries: Any
) -> None:
    token = world.tokens["ada"]
    first = api_keys.authenticate(token)
    assert api_keys.authenticate(token) == first
    with django_assert_num_queries(1):
        assert api_keys.authenticate(token) == first


def test_what_changes_behind_a_key_counts_at_the_next_request(world: World) -> None:
    """The row is read at every request, so changes of other processes count."""
    token = world.tokens["ada"]
    api_keys.authenticate(token)
    actor = api_keys.authenticate(token)
    assert actor is not None
    row = AgentKey.objects.filter(digest=api_keys.digest(token))
    Agent.objects.filter(pk=actor.id).update(memory_walk_depth=1, role="LEAD")
    actor_after = api_keys.authenticate(token)
    assert actor_after is not None
    assert (actor_after.walk_depth, actor_after.agent_role) == (1, AgentRole.LEAD)
    row.update(scopes=[KeyScope.READ.value])
    narrowed = api_keys.authenticate(token)
    assert narrowed is not None
    assert narrowed.scopes == {KeyScope.READ}
    row.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert api_keys.authenticate(token) is None
    row.update(expires_at=None)
    assert api_keys.authenticate(token) is not None
    row.update(revoked_at=timezone.now())
    assert api_keys.authenticate(token) is None
    row.delete()
    assert api_keys.authenticate(token) is None


def test_a_change_while_a_key_is_read_gives_no_rights_afterwards(world: World) -> None:
    token, agents = world.tokens["ada"], Agent.objects.filter(pk=world.agents["ada"].pk)
    api_keys.authenticate(token)
    changes = [{"role": "LEAD"}]

    def change_between(execute: Any, sql: str, *args: Any) -> Any:
        if sql.startswith("SELECT") and "agent_keys" in sql and "LIMIT" in sql:
            while changes:
                agents.update(**changes.pop())
        return execute(sql, *args)

    with connection.execute_wrapper(change_between):
        promoted = api_keys.authenticate(token)
    assert not changes
    agents.update(role="AGENT")
    demoted = api_keys.authenticate(token)
    assert promoted is not None
    assert demoted is not None
    assert promoted.agent_role == AgentRole.LEAD
    assert demoted.agent_role == AgentRole.AGENT


@pytest.mark.parametrize(
    ("member", "key", "acts"),
    [
        (Role.ADMIN, Role.ADMIN, Role.ADMIN),
        (Role.ADMIN, Role.OPERATOR, Role.OPERATOR),
        (Role.ADMIN, Role.VIEWER, Role.VIEWER),
        (Role.OPERATOR, Role.ADMIN, Role.VIEWER),
        (Role.OPERATOR, Role.OPERATOR, Role.OPERATOR),
        (Role.OPERATOR, Role.COMPLIANCE, Role.VIEWER),
        (Role.COMPLIANCE, Role.OPERATOR, Role.VIEWER),
        (Role.VIEWER, Role.ADMIN, Role.VIEWER),
    ],
)
def test_a_key_never_exceeds_the_membership_of_today(
    world: World, member: Role, key: Role, acts: Role
) -> None:
    user = world.people["compliance"]
    issued = api_keys.issue_operator_key(user, key, by=world.actor("owner"))
    Membership.objects.filter(user=user).update(role=member.value)
    actor = api_keys.authenticate(issued.token)
    assert actor is not None
    assert actor.role is acts


def test_who_left_or_was_switched_off_has_no_key_any_more(world: World) -> None:
    User.objects.filter(pk=world.people["viewer"].pk).update(is_active=False)
    assert api_keys.authenticate(world.tokens["viewer"]) is None
    member = Membership.objects.get(user=world.people["operator"])
    workspaces.remove_member(member, by=world.actor("owner"))
    assert api_keys.authenticate(world.tokens["operator"]) is None


@pytest.mark.parametrize("user", ["operator", "compliance", "viewer", "ada", "looker"])
def test_only_admins_issue_and_revoke(world: World, user: str) -> None:
    actor = world.actor(user)
    with pytest.raises(errors.Forbidden):
        api_keys.issue_agent_key(world.agents["ada"], by=actor)
    with pytest.raises(errors.Forbidden):
        api_keys.issue_operator_key(world.people["viewer"], Role.ADMIN, by=actor)
    with pytest.raises(errors.Forbidden):
        api_keys.revoke(AgentKey.objects.filter(workspace=world.acme)[0], by=actor)


def test_an_admin_of_another_workspace_finds_nothing_here(world: World) -> None:
    stranger = world.actor("stranger")
    with pytest.raises(errors.NotFound):
        api_keys.issue_agent_key(world.agents["ada"], by=stranger)
    with pytest.raises(errors.NotFound):
        api_keys.issue_operator_key(world.people["viewer"], Role.ADMIN, by=stranger)
    with pytest.raises(errors.NotFound):
        api_keys.revoke(
            OperatorKey.objects.filter(workspace=world.acme)[0], by=stranger
        )


def test_an_expiry_in_the_past_is_a_mistake(world: World) -> None:
    with pytest.raises(errors.Invalid):
        api_keys.issue_agent_key(
            world.agents["ada"], by=world.actor("owner"), expires_at=timezone.now()
        )


def test_a_limited_key_says_what_it_may(world: World) -> None:
    actor = world.actor("reader")
    assert actor.scopes == {KeyScope.READ}
    assert actor.can("journal.read")
    assert not actor.can("journal.append")

"""The whole permission table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memory.rules import errors, permissions
from memory.rules.permissions import PERMISSIONS, Actor, KeyScope, Role

V, O, C, A, G = Role.VIEWER, Role.OPERATOR, Role.COMPLIANCE, Role.ADMIN, Role.AGENT  # noqa: E741
ALL_ROLES = {V, O, C, A, G}
PEOPLE = {V, O, C, A}
OPERATORS = {O, A}
PRIVACY = {C, A}
READ, WRITE = KeyScope.READ, KeyScope.WRITE

# Action → the permitted roles, and the scope a limited key needs. Repeated here on
# purpose, so that a change of the table fails a test.
TABLE = {
    "journal.read": (ALL_ROLES, READ),
    "journal.append": ({G}, WRITE),
    "journal.import": ({A}, WRITE),
    "journal.prioritise": (OPERATORS, WRITE),
    "journal.verify": (OPERATORS, READ),
    "recall.ask": (ALL_ROLES, READ),
    "recall.ask_as_agent": (PEOPLE, READ),
    "index.read": (ALL_ROLES, READ),
    "index.run": (OPERATORS, WRITE),
    "health.read": (ALL_ROLES, READ),
    "health.recompute": (OPERATORS, WRITE),
    "files.read": (ALL_ROLES, READ),
    "files.write": ({*OPERATORS, G}, WRITE),
    "files.restore": (OPERATORS, WRITE),
    "files.import": ({A}, WRITE),
    "records.read": (ALL_ROLES, READ),
    "records.write": ({*OPERATORS, G}, WRITE),
    "tools.call": ({G}, READ),
    "memories.read": ({G}, READ),
    "memories.write": ({G}, WRITE),
    "turns.recall": ({G}, READ),
    "turns.persist": ({G}, WRITE),
    "quarantine.read": (OPERATORS, READ),
    "quarantine.decide": (OPERATORS, WRITE),
    "scanner.read": (OPERATORS, READ),
    "scanner.manage": ({A}, WRITE),
    "providers.read": (PEOPLE, READ),
    "providers.manage": ({A}, WRITE),
    "provider.use": ({*OPERATORS, G}, WRITE),
    "provider.forget_subject": ({*PRIVACY, G}, WRITE),
    "consolidate.run": (OPERATORS, WRITE),
    "proposals.read": (PEOPLE, READ),
    "proposals.decide": (OPERATORS, WRITE),
    "jobs.read": (OPERATORS, READ),
    "jobs.run": (OPERATORS, WRITE),
    "gdpr.read": (PRIVACY, READ),
    "gdpr.manage": (PRIVACY, WRITE),
    "gdpr.settings": ({A}, WRITE),
    "agents.read": (PEOPLE, READ),
    "agents.manage": ({A}, WRITE),
    "keys.read": ({A}, READ),
    "keys.manage": ({A}, WRITE),
    "members.read": (PEOPLE, READ),
    "members.manage": ({A}, WRITE),
    "workspace.manage": ({A}, WRITE),
    "settings.read": ({A}, READ),
    "settings.manage": ({A}, WRITE),
}


def actor(role: Role, *scopes: KeyScope) -> Actor:
    """Return an actor of workspace ws_1."""
    return Actor(role, "ws_1", "id", "label", scopes=frozenset(scopes))


def test_the_table_here_is_the_table_there() -> None:
    assert {name: (set(p.roles), p.scope) for name, p in PERMISSIONS.items()} == TABLE


@pytest.mark.parametrize("role", [V, O, C, A, G])
def test_a_role_may_exactly_what_the_table_says(role: Role) -> None:
    for action, (roles, _needs) in TABLE.items():
        allowed = role in roles
        assert actor(role).can(action) is allowed, action
        if not allowed:
            with pytest.raises(errors.Forbidden):
                actor(role).require(action)


def test_a_key_limited_to_reading_never_writes() -> None:
    for action, (roles, needs) in TABLE.items():
        for role in roles:
            assert actor(role, READ).can(action) is (needs is READ), action
            assert actor(role, WRITE).can(action) is (needs is WRITE), action
            assert actor(role, READ, WRITE).can(action), action


def test_a_key_of_one_end_user_allows_the_tools_over_memories_alone() -> None:
    key = Actor(G, "ws_1", "id", "label", end_user="mia", only_end_user=True)
    tools = {"tools.call", "memories.read", "memories.write"}
    assert {name: key.can(name) for name in TABLE} == {
        name: name in tools for name in TABLE
    }
    reader = replace(key, scopes=frozenset({READ}))
    assert {action for action in TABLE if reader.can(action)} == {
        "tools.call",
        "memories.read",
    }
    # Speaking to a user limits nothing by itself.
    agent = replace(key, only_end_user=False)
    assert all(agent.can(name) == (G in roles) for name, (roles, _) in TABLE.items())


def test_the_house_may_everything_in_its_workspace() -> None:
    system_actor = permissions.system("ws_1")
    assert all(system_actor.can(action) for action in PERMISSIONS)
    with pytest.raises(errors.NotFound):
        system_actor.require("journal.read", "ws_2")


def test_another_workspace_is_not_found_before_it_is_forbidden() -> None:
    with pytest.raises(errors.NotFound):
        actor(V).require("keys.manage", "ws_2")


def test_an_unknown_action_is_a_bug_not_a_refusal() -> None:
    with pytest.raises(KeyError):
        actor(A).can("journal.burn")


@pytest.mark.parametrize(
    ("role", "kind"), [(G, "agent"), (Role.SYSTEM, "system"), (A, "user"), (V, "user")]
)
def test_the_journal_calls_people_users(role: Role, kind: str) -> None:
    assert actor(role).type == kind
    assert actor(role).is_agent is (role is G)

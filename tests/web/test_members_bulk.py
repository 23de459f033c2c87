"""Many members at once: another role and its undo, removal after a list of who goes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from memory.accounts import members_bulk, workspaces
from memory.models import JournalEntry, Membership, OperatorKey
from memory.rules import errors
from memory.rules.bulk import LIMIT, Pick
from memory.rules.permissions import Role
from tests.world import World

MANY = "/workspace/members/many/"


def member(world: World, person: str) -> Membership:
    return Membership.objects.get(user=world.people[person])


def ticks(world: World, *people: str, **fields: str) -> dict[str, Any]:
    """Return what a form with these people ticked sends."""
    rows = [member(world, person) for person in people]
    return {"items": [f"{row.id}:{row.role}" for row in rows], **fields}


def act(world: World, body: dict[str, Any], user: str = "owner") -> Any:
    return world.page(user).post(MANY, body)


def roles(world: World) -> list[str]:
    return [member(world, who).role for who in ("operator", "compliance", "viewer")]


def test_roles_change_and_exactly_those_come_back(world: World) -> None:
    body = ticks(world, "operator", "compliance", "viewer", act="role", role="viewer")
    html = act(world, body).content.decode()
    assert "2 people have another role" in html
    assert "The role is viewer already." in html
    assert roles(world) == ["viewer", "viewer", "viewer"]
    undo = re.findall(r'name="items" value="([^"]+:[^"]+:[^"]+)"', html)
    assert len(undo) == 2
    compliance = world.people["compliance"]
    workspaces.set_member(compliance, Role.ADMIN, by=world.actor("owner"))
    html = act(world, {"items": undo, "undo": "1"}).content.decode()
    assert "1 person has the former role again" in html
    assert "The membership changed since you read it." in html
    assert roles(world) == ["operator", "admin", "viewer"]
    entries = JournalEntry.objects.filter(
        entry_type="member.changed", actor_id=world.people["owner"].id
    )
    assert entries.count() == 4


def test_a_second_submit_changes_nothing(world: World) -> None:
    body = ticks(world, "operator", "compliance", act="role", role="admin")
    act(world, body)
    html = act(world, body).content.decode()
    assert "0 people have another role" in html
    assert html.count("not changed") == 2


def test_removing_lists_first_who_goes(world: World) -> None:
    body = ticks(world, "operator", "viewer", "owner", act="remove")
    html = act(world, body).content.decode()
    assert "Remove these 2 people?" in html
    assert "operator@acme.example" in html
    assert Membership.objects.filter(workspace=world.acme).count() == 4
    html = act(world, {**body, "sure": "1"}).content.decode()
    assert "2 people removed" in html
    assert "That is you." in html
    assert 'name="undo"' not in html
    people = {row.user.email for row in Membership.objects.filter(workspace=world.acme)}
    assert people == {"owner@acme.example", "compliance@acme.example"}
    keys = OperatorKey.objects.filter(user=world.people["operator"], revoked_at=None)
    assert not keys.exists()


def test_the_last_admin_stays(world: World) -> None:
    """An admin's key outlives the admin's own role for a request under way."""
    owner, other = world.actor("owner"), member(world, "operator")
    workspaces.set_member(other.user, Role.ADMIN, by=owner)
    workspaces.set_member(world.people["owner"], Role.VIEWER, by=world.system())
    pick = [Pick(other.id, "admin")]
    for items in (
        members_bulk.change_role(owner, pick, "viewer"),
        members_bulk.remove(owner, pick),
    ):
        assert [item.code for item in items] == ["last_admin"]
    assert member(world, "operator").role == "admin"


@pytest.mark.parametrize(
    "fields",
    [
        {"act": "role", "role": "emperor"},
        {"act": "role", "role": "agent"},
        {"act": "remove", "items": []},
        {"act": "role", "role": "viewer", "items": []},
    ],
)
def test_a_faulty_act_says_so(world: World, fields: dict[str, Any]) -> None:
    answer = act(world, {**ticks(world, "operator"), **fields})
    assert answer.status_code == 422
    assert 'role="alert"' in answer.content.decode()
    assert roles(world) == ["operator", "compliance", "viewer"]


@pytest.mark.parametrize("former", ["system", "agent", ""])
def test_a_forged_undo_gives_no_role_of_no_person(world: World, former: str) -> None:
    picks = [Pick(member(world, "viewer").id, "viewer", former)]
    items = members_bulk.undo_role(world.actor("owner"), picks)
    assert [item.code for item in items] == ["unknown_role"]
    assert roles(world)[2] == "viewer"


def test_more_than_the_limit_is_refused(world: World) -> None:
    picks = [Pick(f"m_{number}", "viewer") for number in range(LIMIT + 1)]
    with pytest.raises(errors.Invalid):
        members_bulk.remove(world.actor("owner"), picks)


def test_who_may_act(world: World) -> None:
    body = ticks(world, "operator", act="role", role="admin")
    for user in ("operator", "compliance", "viewer"):
        assert act(world, body, user).status_code == 403
        page = world.page(user).get("/workspace/members/").content.decode()
        assert 'name="items"' not in page
    foreign = act(world, body, "stranger").content.decode()
    assert "not changed" in foreign
    assert "operator@acme.example" not in foreign
    answer = act(world, ticks(world, "operator", act="remove"), "stranger")
    assert answer.status_code == 422
    assert b"operator@acme.example" not in answer.content
    assert roles(world) == ["operator", "compliance", "viewer"]

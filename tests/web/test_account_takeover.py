"""Accounts: an admin of another workspace and a former member get no access."""

from __future__ import annotations

import re
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.admin.utils import quote
from django.test import Client

from memory.accounts import api_keys, login_links, workspaces
from memory.models import (
    Invitation,
    JournalEntry,
    Membership,
    OperatorKey,
    User,
)
from memory.rules import errors
from memory.rules.permissions import Role, system
from tests.api.inviting import (
    MEMBERS,
    NEW,
    PASSWORD_FORM,
    entered,
    homes,
    invited,
    link_of,
    signed_in,
    text,
)
from tests.world import PASSWORD, World


# ── How the admin of one workspace does not enter another ────────────────────
def test_a_link_of_one_workspace_opens_nothing_of_another(world: World) -> None:
    other_invitation = invited(world, "owner")
    invited(world, "stranger", role="admin")
    browser = entered(other_invitation)
    assert homes(NEW) == {"acme"}
    response = browser.post("/workspace/choose/", {"workspace": world.other.pk})
    assert response.status_code == 404


def test_an_account_set_up_by_one_admin_does_not_accept_for_another(
    world: World,
) -> None:
    """The admin of acme opens their own link and keeps a session of the account."""
    squatter = entered(invited(world, "owner"))
    link = invited(world, "stranger", role="admin")
    invitation = Invitation.objects.get(workspace=world.other)
    page = text(squatter.get("/invitations/"))
    assert "To accept, open the link of the invitation" in page
    answer = squatter.post(f"/invitations/{invitation.pk}/accept/")
    assert answer.status_code == 403
    assert homes(NEW) == {"acme"}
    assert Client().get(link).status_code == 200


def test_links_of_an_address_end_when_its_account_joins_a_workspace(
    world: World,
) -> None:
    other_invitation = invited(world, "owner")
    own_invitation = invited(world, "stranger")
    entered(own_invitation)
    for method in (Client().get, Client().post):
        assert method(other_invitation).status_code == 410
    assert "no link works" in text(world.page("owner").get(MEMBERS))
    assert homes(NEW) == {"other"}


def test_sessions_end_when_the_account_joins_a_workspace(
    world: World, other_admin: User
) -> None:
    """A session made before must not reach the new workspace."""
    before = signed_in(other_admin)
    assert before.get("/").status_code == 200
    path = invited(world, email=other_admin.email)
    browser = signed_in(other_admin)
    assert browser.post(path, {"answer": "accept"}, follow=True).status_code == 200
    assert browser.get("/").status_code == 200
    assert before.get("/").headers["Location"] == "/accounts/login/?next=/"


def test_a_command_does_not_add_an_account_that_somebody_else_opened(
    world: World,
) -> None:
    entered(invited(world, "owner"))
    user = User.objects.get(email=NEW)
    with pytest.raises(errors.Conflict) as caught:
        workspaces.set_member(user, Role.ADMIN, by=system(world.other.pk))
    assert caught.value.problem_code == "must_accept"
    assert homes(NEW) == {"acme"}
    login_links.mark_proven(user)
    workspaces.set_member(user, Role.ADMIN, by=system(world.other.pk))
    assert homes(NEW) == {"acme", "other"}


def test_no_admin_adds_anybody_without_an_invitation(world: World) -> None:
    with pytest.raises(errors.Forbidden):
        workspaces.set_member(
            world.people["viewer"], Role.ADMIN, by=world.actor("stranger")
        )
    assert homes("viewer@acme.example") == {"acme"}


def test_an_admin_who_left_has_no_invitation_left(world: World) -> None:
    workspaces.set_member(world.people["operator"], Role.ADMIN, by=world.system())
    path = invited(world, "operator")
    member = Membership.objects.get(user=world.people["operator"])
    workspaces.remove_member(member, by=world.actor("owner"))
    assert Client().post(path, PASSWORD_FORM).status_code == 410
    workspaces.set_member(world.people["compliance"], Role.ADMIN, by=world.system())
    path = invited(world, "compliance")
    workspaces.set_member(
        world.people["compliance"], Role.COMPLIANCE, by=world.actor("owner")
    )
    assert Client().post(path, PASSWORD_FORM).status_code == 410


def test_old_keys_do_not_come_back_with_a_new_membership(world: World) -> None:
    viewer = world.people["viewer"]
    member = Membership.objects.get(user=viewer)
    workspaces.remove_member(member, by=world.actor("owner"))
    assert {key.state for key in OperatorKey.objects.filter(user=viewer)} == {"revoked"}
    # A key from before keys were revoked with the membership.
    OperatorKey.objects.filter(user=viewer).update(revoked_at=None)
    browser = signed_in(viewer)
    browser.post(invited(world, email=viewer.email), {"answer": "accept"})
    assert homes(viewer.email) == {"acme"}
    assert api_keys.authenticate(world.tokens["viewer"]) is None


# ── A way back in ────────────────────────────────────────────────────────────
def _password_link(world: World, user: str, by: str = "owner") -> str:
    member = Membership.objects.get(user=world.people[user])
    return link_of(world.page(by).post(f"{MEMBERS}{member.pk}/link/"))


def test_an_admin_hands_a_member_a_link_to_a_new_password(world: World) -> None:
    viewer = world.people["viewer"]
    viewer.set_password("the one that is lost")
    viewer.save()
    elsewhere = signed_in(viewer)
    path = _password_link(world, "viewer")
    assert viewer.email in text(Client().get(path))
    browser = entered(path)
    assert browser.get("/").status_code == 200
    viewer.refresh_from_db()
    assert viewer.check_password(PASSWORD)
    assert elsewhere.get("/").status_code == 302
    assert Client().post(path, PASSWORD_FORM).status_code == 410
    entries = JournalEntry.objects.filter(workspace=world.acme)
    link_entry = entries.get(entry_type="member.link_made")
    assert link_entry.actor_id == world.people["owner"].pk
    assert entries.get(entry_type="member.password_set").actor_id == viewer.pk


def test_who_came_in_by_an_admins_link_is_not_proven_any_more(world: World) -> None:
    viewer = world.people["viewer"]
    login_links.mark_proven(viewer)
    entered(_password_link(world, "viewer"))
    assert not login_links.is_proven(viewer)


@pytest.mark.parametrize(
    "account", ["self", "two_workspaces", "staff", "root", "off", "mail"]
)
def test_for_these_accounts_no_admin_makes_a_link(
    world: World, account: str, settings: Any
) -> None:
    user = world.people["owner" if account == "self" else "viewer"]
    if account == "two_workspaces":
        workspaces.set_member(user, Role.VIEWER, by=system(world.other.pk))
    elif account == "staff":
        User.objects.filter(pk=user.pk).update(is_staff=True)
    elif account == "root":
        User.objects.filter(pk=user.pk).update(is_superuser=True)
    elif account == "off":
        User.objects.filter(pk=user.pk).update(is_active=False)
    settings.MAIL_SERVER = account == "mail"
    member = Membership.objects.get(user=user, workspace=world.acme)
    client = world.page("owner")
    offered = re.findall(r"/workspace/members/(m_\w+)/link/", text(client.get(MEMBERS)))
    assert member.pk not in offered
    page = text(client.post(f"{MEMBERS}{member.pk}/link/", follow=True))
    assert "/login/" not in page
    assert "Whoever runs the installation" in page


def _role(world: World) -> None:
    workspaces.set_member(
        world.people["viewer"], Role.OPERATOR, by=world.actor("owner")
    )


def _leave(world: World) -> None:
    member = Membership.objects.get(user=world.people["viewer"])
    workspaces.remove_member(member, by=world.actor("owner"))


def _join(world: World) -> None:
    viewer = world.people["viewer"]
    workspaces.set_member(viewer, Role.VIEWER, by=system(world.other.pk))


def _password(world: World) -> None:
    viewer = world.people["viewer"]
    viewer.set_password("another long phrase")
    viewer.save()


def _off(world: World) -> None:
    User.objects.filter(pk=world.people["viewer"].pk).update(is_active=False)


def _signs_in(world: World) -> None:
    world.page("viewer")


def _address(world: World) -> None:
    rows = User.objects.filter(pk=world.people["viewer"].pk)
    rows.update(email="renamed@acme.example")


CHANGES = [_role, _leave, _join, _password, _off, _signs_in, _address]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("purpose", list(login_links.Purpose))
def test_every_link_of_an_account_ends_with_what_it_depends_on(
    world: World, purpose: login_links.Purpose, change: Any
) -> None:
    path = login_links.link_path(
        world.people["viewer"],
        purpose,
        workspace_id=world.acme.pk,
        made_by=world.people["owner"].pk,
    )
    assert Client().get(path).status_code == 200
    change(world)
    assert Client().get(path).status_code == 410
    assert Client().post(path, PASSWORD_FORM).status_code == 410


def test_a_password_link_ends_when_its_maker_is_no_admin(world: World) -> None:
    workspaces.set_member(world.people["operator"], Role.ADMIN, by=world.system())
    path = _password_link(world, "viewer", by="operator")
    workspaces.set_member(
        world.people["operator"], Role.VIEWER, by=world.actor("owner")
    )
    assert Client().post(path, PASSWORD_FORM).status_code == 410
    # An admin of another workspace has no role here.
    maker = world.people["operator"]
    login_links.mark_proven(maker)
    workspaces.set_member(maker, Role.ADMIN, by=system(world.other.pk))
    assert Client().post(path, PASSWORD_FORM).status_code == 410


@pytest.mark.parametrize(
    ("user", "field", "value"),
    [("owner", "is_active", False), ("viewer", "is_superuser", True)],
)
def test_a_password_link_ends_with_its_maker_and_with_a_wider_account(
    world: World, user: str, field: str, value: bool
) -> None:
    path = _password_link(world, "viewer")
    User.objects.filter(pk=world.people[user].pk).update(**{field: value})
    assert Client().get(path).status_code == 410
    assert Client().post(path, PASSWORD_FORM).status_code == 410


# ── Nobody gives themselves an address ───────────────────────────────────────
@pytest.mark.parametrize("email", ["boss@b.example", "stranger@other.example"])
@pytest.mark.parametrize("action", ["add", "primary", "remove", "send"])
def test_nobody_changes_their_own_address(
    world: World, email: str, action: str
) -> None:
    """A taken and a free address get the same answer: there is no such page."""
    client = world.page("viewer")
    for path in ("/accounts/email/", "/accounts/confirm-email/"):
        assert client.get(path).status_code == 404
        data = {f"action_{action}": "", "email": email}
        assert client.post(path, data).status_code == 404
    assert User.objects.get(pk=world.people["viewer"].pk).email == "viewer@acme.example"
    assert not EmailAddress.objects.exists()


def test_an_address_changed_in_the_admin_is_not_proven_and_ends_sessions(
    world: World,
) -> None:
    viewer, owner = world.people["viewer"], world.people["owner"]
    User.objects.filter(pk=owner.pk).update(is_staff=True, is_superuser=True)
    login_links.mark_proven(viewer)
    elsewhere = signed_in(viewer)
    data = {"email": "Other.Name@Acme.example", "name": "", "is_active": "on"}
    path = f"/admin/memory/user/{quote(viewer.pk)}/change/"
    assert world.page("owner").post(path, data).status_code == 302
    viewer.refresh_from_db()
    assert viewer.email == "other.name@acme.example"
    assert not login_links.is_proven(viewer)
    assert elsewhere.get("/").status_code == 302

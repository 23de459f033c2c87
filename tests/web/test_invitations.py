"""Invitations: who becomes a member; no other workspace's admin gets access."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.core import mail
from django.test import Client
from django.utils import timezone

from crewship_memory import auth
from memory.accounts import api_keys, invitations, login_links, workspaces
from memory.models import (
    Invitation,
    JournalEntry,
    Membership,
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


# ── A new person ─────────────────────────────────────────────────────────────
def test_a_new_person_chooses_a_password_and_is_a_member(world: World) -> None:
    path = invited(world, email="New.Person@B.example", role="operator")
    assert not User.objects.filter(email=NEW).exists()
    browser = Client()
    page = text(browser.get(path))
    assert "Join acme as operator" in page
    assert NEW in page
    assert "owner@acme.example invites" in page
    weak = browser.post(path, {"new_password1": "12345", "new_password2": "12345"})
    assert weak.status_code == 422
    assert 'class="fault"' in text(weak)
    answer = browser.post(path, PASSWORD_FORM)
    assert (answer.status_code, answer.headers["Location"]) == (302, "/")
    assert "Operator of acme" in text(browser.get("/"))
    assert homes(NEW) == {"acme"}
    assert not Invitation.objects.exists()
    for method in (Client().get, Client().post):
        assert method(path).status_code == 410
    entries = JournalEntry.objects.filter(entry_type__startswith="invitation.")
    entries = entries.order_by("seq")
    newcomer = User.objects.get(email=NEW).pk
    owner = world.people["owner"].pk
    assert [(row.entry_type, row.actor_id) for row in entries] == [
        ("invitation.made", owner),
        ("invitation.link_made", owner),
        ("invitation.accepted", newcomer),
    ]
    payloads = JournalEntry.objects.filter(entry_type__startswith="invitation.")
    assert not any(NEW in str(row.payload) + row.summary for row in payloads)


def test_looking_signs_nobody_in_and_needs_no_cookie(world: World) -> None:
    path = invited(world)
    for _ in range(3):
        answer = Client().get(path)
        assert answer.status_code == 200
        assert "no-store" in answer.headers["Cache-Control"]
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(path, PASSWORD_FORM).status_code == 403
    assert not User.objects.filter(email=NEW).exists()


def test_a_link_ends_after_three_days_and_when_a_newer_one_is_made(
    world: World,
) -> None:
    first = invited(world)
    invitation = Invitation.objects.get()
    response = world.page("owner").post(f"{MEMBERS}invited/{invitation.pk}/link/")
    second = link_of(response)
    assert Client().get(first).status_code == 410
    assert Client().get(second).status_code == 200
    with time_machine.travel(timezone.now() + timedelta(days=3, minutes=1)):
        assert Client().get(second).status_code == 410
        assert Client().post(second, PASSWORD_FORM).status_code == 410


def test_a_withdrawn_invitation_is_gone(world: World) -> None:
    path = invited(world)
    invitation = Invitation.objects.get()
    page = world.page("owner").get(MEMBERS)
    assert "Invited, not here yet" in text(page)
    assert "by owner@acme.example" in text(page)
    response = world.page("owner").post(
        f"{MEMBERS}invited/{invitation.pk}/withdraw/", follow=True
    )
    assert f"The invitation of {NEW} is withdrawn" in text(response)
    assert Client().post(path, PASSWORD_FORM).status_code == 410


@pytest.mark.parametrize("email", ["VIEWER@acme.example", NEW])
def test_inviting_twice_changes_nothing(world: World, email: str) -> None:
    path = invited(world)
    answer = world.page("owner").post(MEMBERS, {"email": email, "role": "admin"})
    assert answer.status_code == 409
    assert "already" in text(answer)
    assert Client().get(path).status_code == 200
    assert Invitation.objects.get().role == "viewer"
    assert Membership.objects.get(user=world.people["viewer"]).role == "viewer"


def test_an_address_that_is_too_long_is_refused(world: World) -> None:
    email = f"{'x' * 60}@{'y' * 60}.{'z' * 60}.{'z' * 60}.{'z' * 60}.example"
    answer = world.page("owner").post(MEMBERS, {"email": email, "role": "viewer"})
    assert answer.status_code == 422
    with pytest.raises(errors.Invalid):
        invitations.invite(email, Role.VIEWER, by=world.actor("owner"))


def test_invitations_are_no_flood(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invitations, "MAX_PENDING", 1)
    invited(world)
    answer = world.page("owner").post(
        MEMBERS, {"email": "one.more@b.example", "role": "viewer"}
    )
    assert answer.status_code == 409
    assert "withdraw some first" in text(answer)


@pytest.mark.parametrize("overtaken_by", ["a newer link", "a withdrawal", "an account"])
def test_a_link_that_ends_while_it_is_used_opens_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch, overtaken_by: str
) -> None:
    path, look, looks = invited(world), invitations.by_token, []

    def overtaken(token: str) -> Invitation | None:
        invitation = look(token)
        looks.append(invitation)
        if len(looks) == 2:
            if overtaken_by == "a newer link":
                Invitation.objects.update(digest="newer")
            elif overtaken_by == "a withdrawal":
                Invitation.objects.all().delete()
            else:
                workspaces.ensure_user(NEW)
        return invitation

    monkeypatch.setattr(invitations, "by_token", overtaken)
    assert Client().post(path, PASSWORD_FORM).status_code == 410
    assert homes(NEW) == set()


# ── Nobody sees or decides about others' invitations ─────────────────────────
@pytest.mark.parametrize("user", ["operator", "compliance", "viewer", "stranger"])
def test_who_is_invited_is_for_admins_of_that_workspace(
    world: World, user: str
) -> None:
    invited(world)
    invitation = Invitation.objects.get()
    client = world.page(user)
    assert NEW not in text(client.get(MEMBERS))
    expected = 404 if user == "stranger" else 403
    for act in ("link", "withdraw"):
        path = f"{MEMBERS}invited/{invitation.pk}/{act}/"
        assert client.post(path).status_code == expected
    for act in ("accept", "decline"):
        assert client.post(f"/invitations/{invitation.pk}/{act}/").status_code == 404
    assert Invitation.objects.filter(pk=invitation.pk).exists()
    assert client.get("/invitations/").status_code == 200
    assert invitation.pk not in text(client.get("/invitations/"))


def test_nobody_answers_without_signing_in(world: World) -> None:
    invited(world)
    path = f"/invitations/{Invitation.objects.get().pk}"
    for address in ("/invitations/", f"{path}/accept/", f"{path}/decline/"):
        answer = Client().post(address)
        assert answer.headers["Location"].startswith("/accounts/login/")
    assert Invitation.objects.count() == 1


# ── Somebody who has an account ──────────────────────────────────────────────
def test_a_link_never_opens_an_account_that_exists(
    world: World, other_admin: User
) -> None:
    path = invited(world, email=other_admin.email)
    admin = Client()
    page = text(admin.get(path))
    assert "Sign in to join acme" in page
    for data in ({}, PASSWORD_FORM, {"answer": "accept"}):
        assert admin.post(path, data).status_code == 200
    assert "_auth_user_id" not in admin.session
    other_admin.refresh_from_db()
    assert other_admin.check_password(PASSWORD)
    assert homes(other_admin.email) == {"other"}


def test_the_answer_to_an_invitation_does_not_tell_who_has_an_account(
    world: World, other_admin: User
) -> None:
    client = world.page("owner")
    pages = [
        text(client.post(MEMBERS, {"email": email, "role": "viewer"})).replace(
            email, "EMAIL"
        )
        for email in ("nobody.knows@me.example", other_admin.email)
    ]
    plain = [
        re.sub(r"inv_\w+|/login/[^<]+|value=\"\w{64}\"", "", html) for html in pages
    ]
    panels = [html.split('id="h-link"')[1].split("</section>")[0] for html in plain]
    assert panels[0] == panels[1]


def test_a_pending_membership_gives_no_access_anywhere(
    world: World, other_admin: User
) -> None:
    invited(world, email=other_admin.email, role="admin")
    client = signed_in(other_admin)
    response = client.post("/workspace/choose/", {"workspace": world.acme.pk})
    assert response.status_code == 404
    assert 'name="workspace"' not in text(client.get("/"))
    session = client.session
    session[auth.SESSION_WORKSPACE] = world.acme.pk
    session.save()
    assert "Admin of other" in text(client.get("/"))
    assert [m.workspace_id for m in auth.memberships(other_admin)] == [world.other.pk]
    with pytest.raises(errors.NotFound):
        api_keys.issue_operator_key(other_admin, Role.ADMIN, by=world.actor("owner"))
    from gdpr.cases import reminder_email

    assert other_admin.email not in reminder_email.recipients(world.acme.pk)
    page = text(world.page("viewer").get(MEMBERS))
    assert other_admin.email not in page
    key_form = text(world.page("owner").get("/workspace/keys/"))
    assert other_admin.email not in key_form


def test_the_owner_of_an_account_accepts_with_the_link(
    world: World, other_admin: User
) -> None:
    path = invited(world, email=other_admin.email)
    browser = Client()
    target = re.search(
        r'href="(/accounts/login/\?next=[^"]+)"', text(browser.get(path))
    )
    assert target is not None
    credentials = {"login": other_admin.email, "password": PASSWORD, "next": path}
    answer = browser.post("/accounts/login/", credentials)
    assert answer.headers["Location"] == path
    assert "Join acme as viewer" in text(browser.get(path))
    answer = browser.post(path, {"answer": "accept"}, follow=True)
    assert "You are viewer in acme now." in text(answer)
    assert "Viewer of acme" in text(browser.get("/"))
    assert homes(other_admin.email) == {"acme", "other"}
    assert browser.post(path, {"answer": "accept"}).status_code == 410


def test_the_owner_of_a_proven_address_accepts_after_signing_in(
    world: World, other_admin: User
) -> None:
    login_links.mark_proven(other_admin)
    invited(world, email=other_admin.email)
    browser = Client()
    credentials = {"login": other_admin.email, "password": PASSWORD}
    answer = browser.post("/accounts/login/", credentials)
    assert answer.headers["Location"] == "/invitations/"
    page = text(browser.get("/invitations/"))
    assert "1 workspace invites you" in page
    assert "owner@acme.example" in page
    assert 'href="/invitations/"' in text(browser.get("/"))
    invitation = Invitation.objects.get()
    response = browser.post(f"/invitations/{invitation.pk}/accept/", follow=True)
    assert "You are viewer in acme now." in text(response)
    assert 'href="/invitations/"' not in text(browser.get("/"))


def test_an_invitation_can_be_declined(world: World, other_admin: User) -> None:
    path = invited(world, email=other_admin.email)
    browser = signed_in(other_admin)
    invitation = Invitation.objects.get()
    page = text(browser.get("/invitations/"))
    assert f"/invitations/{invitation.pk}/decline/" in page
    assert f"/invitations/{invitation.pk}/accept/" not in page
    response = browser.post(f"/invitations/{invitation.pk}/decline/", follow=True)
    assert "You declined the invitation to acme." in text(response)
    assert browser.get(path).status_code == 410
    assert homes(other_admin.email) == {"other"}
    second_invitation = invited(world, email=other_admin.email)
    browser.post(second_invitation, {"answer": "decline"})
    assert not Invitation.objects.exists()


@pytest.mark.parametrize("link", ["expired", "ended", "forged", "none"])
def test_an_unproven_address_accepts_only_with_a_link_that_works(
    world: World, other_admin: User, link: str
) -> None:
    """The service checks again under the lock, whatever the page read before."""
    path = invited(world, email=other_admin.email)
    token = path.rstrip("/").rpartition("/")[2]
    invitation = Invitation.objects.get()
    rows = Invitation.objects.filter(pk=invitation.pk)
    if link == "expired":
        rows.update(link_made_at=timezone.now() - timedelta(days=4))
    elif link == "ended":
        rows.update(digest="")
    token_sent = {"forged": token + "x", "none": ""}.get(link, token)
    with pytest.raises(errors.Forbidden):
        invitations.accept(invitation.pk, other_admin, token=token_sent)
    assert homes(other_admin.email) == {"other"}


def test_a_person_with_another_address_does_not_accept(
    world: World, other_admin: User
) -> None:
    path = invited(world)
    token = path.rstrip("/").rpartition("/")[2]
    login_links.mark_proven(other_admin)
    with pytest.raises(errors.NotFound):
        invitations.accept(Invitation.objects.get().pk, other_admin, token=token)
    assert homes(other_admin.email) == {"other"}


@pytest.mark.parametrize("by_mail", [True, False])
def test_only_a_mailed_link_proves_the_address_of_an_account_that_exists(
    world: World, other_admin: User, by_mail: bool
) -> None:
    path = invited(world, email=other_admin.email)
    Invitation.objects.update(mailed=by_mail)
    token = path.rstrip("/").rpartition("/")[2]
    invitations.accept(Invitation.objects.get().pk, other_admin, token=token)
    assert login_links.is_proven(other_admin) is by_mail


def test_an_invitation_is_declined_by_the_owner_of_its_address_alone(
    world: World,
) -> None:
    invited(world)
    invitation = Invitation.objects.get()
    with pytest.raises(errors.NotFound):
        invitations.decline(invitation.pk, world.people["viewer"])
    assert Invitation.objects.filter(pk=invitation.pk).exists()


@pytest.mark.parametrize("act", ["get", "withdraw", "link_path", "send"])
def test_an_admin_of_another_workspace_does_nothing_to_an_invitation(
    world: World, act: str
) -> None:
    """Each service checks the workspace, also when it is given the row."""
    invited(world)
    invitation, other = Invitation.objects.get(), system(world.other.pk)
    acts: dict[str, Callable[[], object]] = {
        "get": lambda: invitations.get(invitation.pk, by=other),
        "withdraw": lambda: invitations.withdraw(invitation, by=other),
        "link_path": lambda: invitations.link_path(invitation, by=other),
        "send": lambda: invitations.send(invitation, "http://testserver", by=other),
    }
    with pytest.raises(errors.NotFound):
        acts[act]()
    assert Invitation.objects.get().digest == invitation.digest


def test_somebody_else_in_the_browser_does_not_accept(world: World) -> None:
    path = invited(world)
    browser = world.page("viewer")
    assert f"This invitation is for {NEW}" in text(browser.get(path))
    browser.post(path, {"answer": "accept", **PASSWORD_FORM})
    assert not User.objects.filter(email=NEW).exists()
    assert Invitation.objects.count() == 1


def test_a_switched_off_account_is_not_invited_back_in(
    world: World, other_admin: User
) -> None:
    path = invited(world, email=other_admin.email)
    User.objects.filter(pk=other_admin.pk).update(is_active=False)
    assert Client().get(path).status_code == 410
    invitation = Invitation.objects.get()
    other_admin.refresh_from_db()
    token = path.split("/")[3]
    with pytest.raises(errors.NotFound):
        invitations.accept(invitation.pk, other_admin, token=token)


# ── By mail ──────────────────────────────────────────────────────────────────
@pytest.fixture
def mailing(settings: Any) -> None:
    settings.MAIL_SERVER = True


def _link_in_mail() -> str:
    match = re.search(r"http://testserver(/login/\S+)", str(mail.outbox[-1].body))
    assert match is not None
    return match.group(1)


def test_with_a_mail_server_the_link_goes_to_the_mailbox_alone(
    world: World, mailing: None
) -> None:
    client = world.page("owner")
    answer = client.post(MEMBERS, {"email": NEW, "role": "viewer"}, follow=True)
    assert f"An invitation went to {NEW}" in text(answer)
    assert "/login/" not in text(answer)
    assert [message.to for message in mail.outbox] == [[NEW]]
    entered(_link_in_mail())
    assert login_links.is_proven(User.objects.get(email=NEW))


def test_what_was_handed_over_proves_no_mailbox(world: World, mailing: None) -> None:
    client = world.page("owner")
    client.post(MEMBERS, {"email": NEW, "role": "viewer"})
    path = f"{MEMBERS}invited/{Invitation.objects.get().pk}/link/"
    entered(link_of(client.post(path, {"by": "hand"})))
    assert not login_links.is_proven(User.objects.get(email=NEW))


def test_a_mail_is_sent_again_but_not_at_once(world: World, mailing: None) -> None:
    client = world.page("owner")
    client.post(MEMBERS, {"email": NEW, "role": "viewer"})
    path = f"{MEMBERS}invited/{Invitation.objects.get().pk}/link/"
    first = _link_in_mail()
    assert "a moment ago" in text(client.post(path, follow=True))
    assert len(mail.outbox) == 1
    with time_machine.travel(timezone.now() + timedelta(minutes=2)):
        client.post(path)
        assert len(mail.outbox) == 2
        assert Client().get(first).status_code == 410
        assert Client().get(_link_in_mail()).status_code == 200


def test_a_mail_server_that_refuses_leaves_the_invitation_without_a_link(
    world: World, mailing: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise ConnectionRefusedError

    monkeypatch.setattr("django.core.mail.get_connection", broken)
    answer = world.page("owner").post(
        MEMBERS, {"email": NEW, "role": "viewer"}, follow=True
    )
    assert "The mail did not go out: ConnectionRefusedError." in text(answer)
    assert "no link works" in text(answer)

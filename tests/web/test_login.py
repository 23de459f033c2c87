"""One-time links: opening uses nothing, the button works once, MFA still applies."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.db import OperationalError, connection, transaction
from django.test import Client
from django.utils import timezone

from crewship_memory import auth, bootstrap
from memory.accounts import login_links
from memory.models import User
from tests.world import PASSWORD, World


@pytest.fixture
def person(db: None) -> User:
    return bootstrap.bootstrap("login-shop", "pat@login.example").user


def test_looking_at_a_link_does_not_use_it(person: User) -> None:
    path = auth.login_path(person)
    for _ in range(2):
        answer = Client().get(path)
        assert answer.status_code == 200
        assert person.email in answer.content.decode()
    assert "no-store" in answer.headers["Cache-Control"]


def test_the_button_lets_in_once_and_rotates_the_session(person: User) -> None:
    path = auth.login_path(person)
    client = Client()
    client.session.save()
    before = client.session.session_key
    answer = client.post(path)
    assert (answer.status_code, answer.headers["Location"]) == (302, "/")
    assert client.session["_auth_user_id"] == person.pk
    assert client.session.session_key != before
    assert Client().post(path).status_code == 410
    assert Client().get(path).status_code == 410


def test_a_forged_link_opens_nothing(person: User) -> None:
    path = auth.login_path(person)
    purposes = ("sign-in", "password", "member", "mailbox", "invitation", "x", "%FF")
    paths = [f"/login/{purpose}/abc-123/" for purpose in purposes]
    # A link made for one purpose is invalid for another.
    paths += [path.replace("sign-in", purpose) for purpose in purposes[1:]]
    for forged in (*paths, path[:-3] + "xx/"):
        assert Client().get(forged).status_code == 410, forged
        assert Client().post(forged).status_code == 410, forged


def test_the_button_needs_its_csrf_token(person: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(auth.login_path(person)).status_code == 403
    assert "_auth_user_id" not in strict.session


def test_a_second_factor_is_still_asked_for(person: User) -> None:
    TOTP.activate(person, generate_totp_secret())
    client = Client()
    answer = client.post(auth.login_path(person))
    assert answer.status_code == 302
    assert answer.headers["Location"].startswith("/accounts/2fa/authenticate/")
    assert "_auth_user_id" not in client.session


@pytest.mark.parametrize("purpose", list(login_links.Purpose)[:2])
def test_of_two_clicks_at_once_one_gets_in(
    person: User, purpose: login_links.Purpose, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the check and the lock, the link is used in another browser."""
    path, look, looks = (
        login_links.link_path(person, purpose),
        login_links.open_link,
        [],
    )

    def overtaken(
        purpose: login_links.Purpose, token: str
    ) -> login_links.Opening | None:
        opening = look(purpose, token)
        looks.append(opening)
        if len(looks) == 2:
            User.objects.filter(pk=person.pk).update(last_login=timezone.now())
        return opening

    monkeypatch.setattr(login_links, "open_link", overtaken)
    client = Client()
    form_data = {"new_password1": PASSWORD, "new_password2": PASSWORD}
    assert client.post(path, form_data).status_code == 410
    assert "_auth_user_id" not in client.session
    person.refresh_from_db()
    assert not person.has_usable_password()


def _is_free(user: User) -> bool:
    """Whether another connection gets the lock of an account's row."""
    try:
        with transaction.atomic():
            User.objects.select_for_update(nowait=True).get(pk=user.pk)
    except OperationalError:
        return False
    finally:
        connection.close()
    return True


@pytest.mark.postgres
@pytest.mark.parametrize("purpose", list(login_links.Purpose)[:2])
def test_the_last_look_at_a_link_is_under_the_lock(
    world: World, purpose: login_links.Purpose, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite allows one writer at a time; PostgreSQL locks the account's row."""
    person, look, free = world.people["viewer"], login_links.open_link, []

    def looking(purpose: login_links.Purpose, token: str) -> login_links.Opening | None:
        with ThreadPoolExecutor(1) as other:
            free.append(other.submit(_is_free, person).result())
        return look(purpose, token)

    monkeypatch.setattr(login_links, "open_link", looking)
    form_data = {"new_password1": PASSWORD, "new_password2": PASSWORD}
    path = login_links.link_path(person, purpose)
    assert Client().post(path, form_data).status_code == 302
    assert free == [True, True, False]


@pytest.mark.parametrize("purpose", list(login_links.Purpose))
def test_no_link_opens_an_account_that_is_switched_off(
    person: User, purpose: login_links.Purpose
) -> None:
    person.is_active = False
    person.save()
    path = login_links.link_path(person, purpose)
    assert Client().get(path).status_code == 410
    assert Client().post(path).status_code == 410

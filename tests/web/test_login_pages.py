"""The pages of signing in, signing out and the second factor."""

from __future__ import annotations

import base64
import hashlib
import hmac
import struct
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.hashers import check_password, make_password
from django.test import Client
from pytest_django import Settings

from crewship_memory import auth
from memory.models import User
from tests.world import PASSWORD, World

LOGIN = "/accounts/login/"


def _text(response: Any) -> str:
    return str(response.content.decode())


@pytest.fixture
def person(world: World) -> User:
    """Return the viewer, with a password."""
    user = world.people["viewer"]
    user.set_password(PASSWORD)
    user.save()
    return user


def _sign_in(client: Client, user: User, password: str = PASSWORD) -> Any:
    return client.post(LOGIN, {"login": user.email, "password": password})


def test_passwords_are_stored_by_argon2(settings: Settings) -> None:
    # Tests store them by a fast hasher, see tests/conftest.py.
    fast, *hashers = settings.PASSWORD_HASHERS
    assert fast.endswith("MD5PasswordHasher")
    settings.PASSWORD_HASHERS = hashers
    stored = make_password(PASSWORD)
    assert stored.startswith("argon2$argon2id$")
    assert check_password(PASSWORD, stored)
    assert not check_password(PASSWORD.swapcase(), stored)


def test_a_person_signs_in_and_out(person: User) -> None:
    client = Client()
    page = _text(client.get(LOGIN))
    assert '<h1 id="title">Sign in</h1>' in page
    assert "sign up" not in page.lower()
    assert _sign_in(client, person).headers["Location"] == "/"
    assert client.get("/").status_code == 200
    assert "Sign out of this browser?" in _text(client.get("/accounts/logout/"))
    client.post("/accounts/logout/")
    assert client.get("/").status_code == 302


def test_a_wrong_password_is_an_alert_and_keeps_the_address(person: User) -> None:
    answer = _sign_in(Client(), person, "wrong")
    page = _text(answer)
    assert 'role="alert"' in page
    assert f'value="{person.email}"' in page
    assert "wrong" not in page.split("<form")[1].split('name="password"')[1][:80]


def test_five_wrong_passwords_lock_an_account_for_five_minutes(world: World) -> None:
    locked, other = world.people["viewer"], world.people["operator"]
    with time_machine.travel(datetime(2026, 3, 2, 9, 0, tzinfo=UTC), tick=False) as at:
        for user in (locked, other):
            user.set_password(PASSWORD)
            user.save()
        for _ in range(5):
            assert "Too many failed" not in _text(_sign_in(Client(), locked, "wrong"))
        assert "Too many failed" in _text(_sign_in(Client(), locked))
        assert _sign_in(Client(), other).status_code == 302
        at.shift(timedelta(minutes=5, seconds=1))
        assert _sign_in(Client(), locked).status_code == 302


def test_nobody_signs_up(db: None) -> None:
    assert "by invitation" in _text(Client().get("/accounts/signup/"))


@pytest.mark.parametrize(
    "path",
    ["/accounts/password/change/", "/accounts/2fa/", "/accounts/logout/",
     "/accounts/reauthenticate/", "/invitations/"],
)  # fmt: skip
def test_account_pages_wear_the_frame(person: User, path: str) -> None:
    client = Client()
    _sign_in(client, person)
    answer = client.get(path, follow=True)
    page = _text(answer)
    assert answer.status_code == 200
    assert "css/components.css" in page
    assert " style=" not in page


@pytest.mark.parametrize("path", [LOGIN, "/accounts/password/reset/"])
def test_entrance_pages_wear_the_door(db: None, path: str) -> None:
    page = _text(Client().get(path))
    assert '<main class="panel-page"' in page
    assert 'id="rail"' not in page


def test_a_password_changes(person: User) -> None:
    client = Client()
    _sign_in(client, person)
    new = "another quite long phrase"
    form_data = {"oldpassword": PASSWORD, "password1": new, "password2": new}
    page = client.post("/accounts/password/change/", form_data, follow=True)
    assert "Password changed" in _text(page)
    person.refresh_from_db()
    assert person.check_password(new)


def test_a_weak_password_is_refused_beside_its_field(person: User) -> None:
    client = Client()
    _sign_in(client, person)
    form_data = {"oldpassword": PASSWORD, "password1": "12345", "password2": "12345"}
    page = _text(client.post("/accounts/password/change/", form_data))
    assert 'class="fault"' in page
    assert 'aria-invalid="true"' in page


# ── A second factor ──────────────────────────────────────────────────────────
def _code(secret: str) -> str:
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    digest = hmac.new(key, struct.pack(">Q", int(time.time()) // 30), hashlib.sha1)
    raw = digest.digest()
    at = raw[-1] & 15
    number = struct.unpack(">I", raw[at : at + 4])[0] & 0x7FFFFFFF
    return f"{number % 10**6:06d}"


def _activate(client: Client) -> None:
    """Set up an authenticator app; allauth asks for the password again first."""
    path = "/accounts/2fa/totp/activate/"
    response = client.get(path, follow=True)
    assert "Confirm that it is you" in _text(response)
    where = f"/accounts/reauthenticate/?next={path}"
    assert client.post(where, {"password": "wrong"}).status_code == 200
    client.post(where, {"password": PASSWORD})
    page = _text(client.get(path))
    secret = page.split('id="secret" value="')[1].split('"')[0]
    answer = client.post("/accounts/2fa/totp/activate/", {"code": _code(secret)})
    assert answer.status_code == 302


@time_machine.travel(datetime(2026, 3, 2, 9, 0, 5, tzinfo=UTC), tick=False)
def test_a_second_factor_is_set_up_and_asked_for(person: User) -> None:
    # A code is valid for half a minute, so time stands still here.
    client = Client()
    _sign_in(client, person)
    assert "A password alone opens this account" in _text(client.get("/accounts/2fa/"))
    _activate(client)
    html = _text(client.get("/accounts/2fa/"))
    assert "Signing in asks for a code from your phone" in html
    assert "10 of 10 unused" in html
    codes = _text(client.get("/accounts/2fa/recovery-codes/"))
    assert "10 of 10 recovery codes are unused" in codes
    response = client.get("/accounts/2fa/recovery-codes/generate/")
    assert "Make new codes" in _text(response)
    assert "Keep it on" in _text(client.get("/accounts/2fa/totp/deactivate/"))
    recovery = codes.split('aria-label="Unused codes">')[2].split()[0]

    other = Client()
    assert "/2fa/authenticate/" in _sign_in(other, person).headers["Location"]
    assert "Enter the code" in _text(other.get("/accounts/2fa/authenticate/"))
    wrong = other.post("/accounts/2fa/authenticate/", {"code": "000000"})
    assert 'class="fault"' in _text(wrong)
    assert other.get("/").status_code == 302
    right = other.post("/accounts/2fa/authenticate/", {"code": recovery})
    assert right.headers["Location"] == "/"
    assert other.get("/").status_code == 200


# ── Login links ──────────────────────────────────────────────────────────────
def test_looking_at_a_link_does_not_use_it(world: World) -> None:
    path = auth.login_path(world.people["viewer"])
    for _ in range(3):
        page = Client().get(path)
        assert "Sign in as viewer@acme.example" in _text(page)
    assert Client().post(path).headers["Location"] == "/"
    response = Client().get(path)
    assert response.status_code == 410
    assert "This link no longer works" in _text(response)


def test_a_forged_link_says_the_same_as_a_used_one(db: None) -> None:
    forged_response = Client().get("/login/x/y/")
    assert forged_response.status_code == 410
    assert LOGIN in _text(forged_response)


# ── Errors of Django itself ──────────────────────────────────────────────────
def test_a_form_without_its_token_is_refused_in_our_look(world: World) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(
        world.people["owner"], backend="django.contrib.auth.backends.ModelBackend"
    )
    answer = client.post("/workspace/agents/crew/", {"slug": "x"})
    assert answer.status_code == 403
    assert "Nothing was changed." in _text(answer)


def test_a_bug_is_a_page_that_needs_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_args: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("episodic.agents.facts.facts_of", broken)
    client = world.page("viewer")
    client.raise_request_exception = False
    answer = client.get("/workspace/agents/")
    assert answer.status_code == 500
    assert "Something went wrong on our side" in _text(answer)
    assert "ZeroDivisionError" not in _text(answer)

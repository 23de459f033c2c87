"""A lost password: a mail with a server; without one, whom to ask."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core import mail
from django.test import Client

from crewship_memory import log_redaction, password_reset
from crewship_memory import settings as project_settings
from memory.accounts import login_links
from memory.accounts import mail as account_mail
from tests.world import PASSWORD, World

RESET = "/accounts/password/reset/"
NEW_PASSWORD = {"new_password1": PASSWORD, "new_password2": PASSWORD}


def _text(response: Any) -> str:
    return str(response.content.decode())


@pytest.fixture
def mailing(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set a mail server; mails are sent in the request."""
    settings.MAIL_SERVER = True
    monkeypatch.setattr(password_reset._sender, "submit", lambda act, *args: act(*args))


# ── Without a mail server ────────────────────────────────────────────────────
def test_without_a_mail_server_the_page_says_whom_to_ask(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    page = _text(Client().get(RESET))
    assert "Ask your admin" in page
    assert 'name="email"' not in page
    answer = Client().post(RESET, {"email": "viewer@acme.example"})
    assert answer.status_code == 404
    assert mail.outbox == []
    for word in ("/login/", "token", "viewer@acme.example", "reset/key"):
        assert word not in caplog.text


@pytest.mark.parametrize(
    "path", ["key/u_1-abc-def/", "done/", "key/done/", "confirm/", "complete/"]
)
def test_the_pages_of_the_library_behind_it_are_not_there(db: None, path: str) -> None:
    assert Client().get(RESET + path).status_code == 404
    assert Client().post(RESET + path).status_code == 404


def test_a_mail_that_a_library_sends_is_one_line_without_address_or_body(
    caplog: pytest.LogCaptureFixture,
) -> None:
    message = mail.EmailMessage("Secret subject", "secret body", None, ["a@b.example"])
    assert account_mail.NoServer().send_messages([message]) == 0
    assert len(caplog.records) == 1
    assert caplog.text.count("\n") == 1
    assert "mail not sent: no mail server is set (CREWSHIP_EMAIL_URL)" in caplog.text
    assert "'count': 1" in caplog.text
    assert "ecret" not in caplog.text
    assert "a@b.example" not in caplog.text


@pytest.mark.parametrize("url", ["consolemail://", "filemail:///tmp/x", "log://"])
def test_links_go_to_a_mail_server_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("CREWSHIP_EMAIL_URL", url)
    with pytest.raises(ValueError, match="CREWSHIP_EMAIL_URL must name a mail server"):
        project_settings._mail()


def test_a_mail_server_is_read_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert project_settings._mail() == {
        "EMAIL_BACKEND": "memory.accounts.mail.NoServer"
    }
    monkeypatch.setenv("CREWSHIP_EMAIL_URL", "smtp+tls://me:word@mail.example:587")
    read = project_settings._mail()
    assert (read["EMAIL_HOST"], read["EMAIL_PORT"]) == ("mail.example", 587)
    assert read["EMAIL_USE_TLS"]


@pytest.mark.parametrize(
    "purpose", ["sign-in", "password", "member", "mailbox", "invitation"]
)
def test_the_token_of_a_link_is_cut_out_of_a_log_line(purpose: str) -> None:
    line = log_redaction.clean(f"GET /login/{purpose}/Abc-de:f_g:hi/ 500")
    assert "Abc-de" not in line
    assert "hi" not in line.replace("…", "")


# ── With one ─────────────────────────────────────────────────────────────────
def test_a_lost_password_is_replaced_from_the_mailbox(
    world: World, mailing: None
) -> None:
    viewer = world.people["viewer"]
    answer = Client().post(RESET, {"email": " Viewer@ACME.example "})
    assert answer.status_code == 200
    assert [message.to for message in mail.outbox] == [[viewer.email]]
    match = re.search(
        r"http://testserver(/login/mailbox/\S+)", str(mail.outbox[0].body)
    )
    assert match is not None
    browser = Client()
    assert browser.get(match[1]).status_code == 200
    assert browser.post(match[1], NEW_PASSWORD).status_code == 302
    assert browser.get("/").status_code == 200
    viewer.refresh_from_db()
    assert viewer.check_password(PASSWORD)
    assert login_links.is_proven(viewer)
    assert Client().post(match[1], NEW_PASSWORD).status_code == 410


def test_the_answer_does_not_tell_who_has_an_account(
    world: World, mailing: None
) -> None:
    answers = [
        Client().post(RESET, {"email": email})
        for email in ("viewer@acme.example", "nobody@nowhere.example")
    ]
    plain = [
        re.sub(r'"\w{64}"|: "\w{64}"', "", _text(response)) for response in answers
    ]
    assert plain[0] == plain[1]
    assert answers[0].status_code == answers[1].status_code
    assert len(mail.outbox) == 1


def test_one_mail_a_minute_goes_to_an_address(world: World, mailing: None) -> None:
    for _ in range(3):
        Client().post(RESET, {"email": "viewer@acme.example"})
    assert len(mail.outbox) == 1


def test_a_server_that_refuses_leaves_a_line_without_the_address(
    world: World,
    mailing: None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise ConnectionRefusedError

    monkeypatch.setattr("django.core.mail.get_connection", broken)
    assert Client().post(RESET, {"email": "viewer@acme.example"}).status_code == 200
    assert "password_mail_not_sent" in caplog.text
    assert "viewer@acme.example" not in caplog.text
    assert "/login/" not in caplog.text


def test_a_switched_off_account_gets_no_mail(world: World, mailing: None) -> None:
    viewer = world.people["viewer"]
    viewer.is_active = False
    viewer.save()
    Client().post(RESET, {"email": viewer.email})
    assert mail.outbox == []

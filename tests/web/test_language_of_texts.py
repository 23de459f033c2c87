"""Whose language a text is in: a mail's receiver, a page's reader; records: English."""

from __future__ import annotations

from typing import Any

import pytest
from django.core import mail
from django.test import Client

from crewship_memory import password_reset
from memory.models import JournalEntry
from tests.world import World

MEMBERS = "/workspace/members/"
GERMAN = {"Accept-Language": "de"}


@pytest.fixture
def mailing(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set a mail server; mails are sent in the request."""
    settings.MAIL_SERVER = True
    monkeypatch.setattr(password_reset._sender, "submit", lambda act, *args: act(*args))


def _speaks(world: World, person: str, language: str) -> str:
    user = world.people[person]
    user.language = language
    user.save(update_fields=["language"])
    return user.email


def test_a_mail_for_a_password_is_in_the_language_of_its_receiver(
    world: World, mailing: None
) -> None:
    for person, language in (("viewer", "de"), ("operator", "en")):
        email = _speaks(world, person, language)
        Client(headers={"Accept-Language": "en" if language == "de" else "de"}).post(
            "/accounts/password/reset/", {"email": email}
        )
    german, english = mail.outbox
    assert german.subject == "Ein neues Passwort für Crewship Memory"
    assert "binnen drei Tagen" in german.body
    assert english.subject == "A new password for Crewship Memory"


def test_an_invitation_is_in_the_language_of_the_account_else_of_the_page(
    world: World, mailing: None
) -> None:
    email = _speaks(world, "stranger", "en")
    page = world.page("owner")
    for to in (email, "new@c.example"):
        fields = {"email": to, "role": "viewer"}
        assert page.post(MEMBERS, fields, headers=GERMAN).status_code < 400
    to_account, to_nobody = mail.outbox
    assert to_account.subject.startswith("Invitation to acme")
    assert "as viewer." in to_account.body
    assert to_nobody.subject.startswith("Einladung zu acme")
    assert "mit der Rolle Lesend." in to_nobody.body


def test_what_a_german_page_writes_into_the_journal_is_english(
    world: World, mailing: None
) -> None:
    fields = {"email": "new@c.example", "role": "viewer"}
    world.page("owner").post(MEMBERS, fields, headers=GERMAN)
    summaries = JournalEntry.objects.filter(entry_type__startswith="invitation.")
    assert set(summaries.values_list("summary", flat=True)) == {
        "Somebody was invited as viewer",
        "A link to accept an invitation was made",
    }


def test_a_refusal_is_german_on_a_page_and_english_for_a_program(world: World) -> None:
    page = world.page("viewer").get("/workspace/keys/", headers=GERMAN)
    text = page.content.decode()
    assert page.status_code == 403
    assert "Die Rolle Lesend darf das nicht: keys.read." in text
    assert "Nicht erlaubt" in text
    answer = world.api("viewer", Accept_Language="de").get("/quarantine")
    assert answer.status == 403
    problem = answer.data
    assert problem["title"] == "Not allowed"
    assert problem["detail"].startswith("viewer may not do this: ")


def test_the_palette_finds_a_page_by_its_name_in_either_language(world: World) -> None:
    page = world.page("owner")
    for word in ("Löschsperren", "Holds"):
        answer = page.post("/find/", {"find": word}, headers=GERMAN)
        assert 'href="/privacy/holds/"' in answer.content.decode()

"""Letters over the API: from the draft to the mail, addresses, texts."""

from __future__ import annotations

from typing import Any

import pytest
from django.core import mail as django_mail

from gdpr.models import GdprAction, Letter, LetterTemplate
from memory.accounts import mail
from tests.gdpr import letter_kit
from tests.gdpr import requests as make
from tests.gdpr.letter_kit import EMAIL, PERSON
from tests.world import World

pytestmark = pytest.mark.django_db
TEXTS = "/gdpr/letter_templates"


def test_from_the_draft_to_the_mail(world: World, settings: Any) -> None:
    settings.MAIL_SERVER = True
    case, api = make.opened(world), world.api("compliance")
    path = f"/gdpr/cases/{case.id}"
    address = {"name": PERSON, "email": EMAIL, "language": "DE"}
    reply = api.send("put", f"{path}/correspondence", address)
    assert reply.data == {**address, "language": "de", "post": None}
    assert api.get(f"{path}/letters").data == {
        "items": [],
        "fitting": ["received"],
        "missing": "received",
    }
    draft = api.post(f"{path}/letters", {"occasion": "received"})
    assert (draft.status, draft.data["language"]) == (200, "de")
    assert draft.data["missing"] == ["controller", "controller_contact"]
    assert not Letter.objects.exists()
    words = {"occasion": "received", "body": f"Hallo {PERSON}", "keep": True}
    letter = api.post(f"{path}/letters", words)
    assert letter.status == 201
    assert letter.data["body"] == f"Hallo {PERSON}"
    assert letter.data["subject"] == draft.data["subject"]
    letter_path = f"{path}/letters/{letter.data['id']}"
    reply = api.post(f"{letter_path}/send", {"way": "mail"})
    assert reply.data["way"] == "mail"
    assert api.post(f"{letter_path}/send", {"way": "mail"}).code == "letter_sent"
    assert len(django_mail.outbox) == 1
    assert api.get(letter_path).data["to"] == EMAIL
    assert api.send("delete", letter_path).code == "letter_sent"
    listing = api.get(f"{path}/letters").data
    assert listing["missing"] is None
    assert PERSON not in str(listing)
    assert GdprAction.objects.filter(scope__what="letter").count() == 1


def test_a_mail_server_that_is_down_is_503(
    world: World, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MAIL_SERVER = True

    def down(*_: object) -> int:
        raise ConnectionRefusedError

    monkeypatch.setattr(mail, "send", down)
    case = letter_kit.addressed(world, make.opened(world))
    letter = letter_kit.letter(world, case)
    path = f"/gdpr/cases/{case.id}/letters/{letter.id}/send"
    reply = world.api("compliance").post(path, {"way": "mail"})
    assert (reply.status, reply.code) == (503, "mail_not_sent")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"occasion": "birthday"}, 422),
        ({"occasion": "done"}, 409),
        ({"occasion": "received", "language": "no language"}, 422),
        ({"occasion": "received", "body": "x" * 100_000, "keep": True}, 422),
        ({"occasion": "received", "subject": "A\r\nBcc: e@x.org", "keep": True}, 422),
        ({"occasion": "received", "body": "a\u0000b", "keep": True}, 422),
    ],
)
def test_what_is_no_letter_is_refused(
    world: World, body: dict[str, Any], status: int
) -> None:
    path = f"/gdpr/cases/{make.opened(world).id}/letters"
    assert world.api("compliance").post(path, body).status == status
    assert not Letter.objects.exists()


def test_a_text_is_saved_listed_and_reset(world: World) -> None:
    api = world.api("compliance")
    body = {"occasion": "done", "kind": "access", "language": "pt-br"}
    words = {"subject": "Resposta", "body": "{greeting}"}
    reply = api.send("put", TEXTS, {**body, **words})
    assert (reply.status, reply.data["version"]) == (200, 1)
    assert api.send("put", TEXTS, {**body, **words}).code == "stale_version"
    [row] = api.get(TEXTS, {"language": "pt-BR"}).data["items"]
    assert (row["subject"], row["kind"]) == ("Resposta", "access")
    listing = api.get(TEXTS).data
    assert {row["language"] for row in listing["items"]} == {"en", "de", "pt-BR"}
    assert "greeting" in {row["name"] for row in listing["placeholders"]}
    query = "occasion=done&kind=access&language=pt-BR&version=1"
    assert api.send("delete", f"{TEXTS}?{query}").status == 204
    assert not LetterTemplate.objects.exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ({"body": "{__class__}"}, "unknown_placeholder"),
        ({"subject": "{"}, "bad_placeholder"),
        ({"occasion": "done"}, "kind_required"),
    ],
)
def test_a_faulty_text_is_refused(
    world: World, words: dict[str, str], code: str
) -> None:
    body = {"occasion": "received", "language": "en", "subject": "A", "body": "B"}
    assert world.api("compliance").send("put", TEXTS, {**body, **words}).code == code


def test_a_forwarded_request_brings_its_address(world: World) -> None:
    body = {"kind": "access", "email": EMAIL, "name": "Mara\nHolt", "language": "de"}
    api = world.api("compliance")
    case_id = api.post("/gdpr/requests", body).data["case_id"]
    path = f"/gdpr/cases/{case_id}/correspondence"
    assert api.get(path).data == {
        "name": "Mara Holt",
        "email": EMAIL,
        "post": None,
        "language": "de",
    }
    # A second request changes nothing about where the answer goes.
    api.post("/gdpr/requests", {**body, "name": "Eve"})
    assert api.get(path).data["name"] == "Mara Holt"

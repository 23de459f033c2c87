"""The public verification of certificates, without a login, for any input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from gdpr.cases import leases
from gdpr.certificates import document as certificate_document
from gdpr.certificates import issue as certificates
from gdpr.models import Certificate
from memory.models import JournalEntry
from tests.gdpr import requests as make
from tests.gdpr.requests import RUNNER
from tests.world import World

PAGE = "/certificates/check/"
VERIFY = "/gdpr/certificates/verify"


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path


@pytest.fixture
def certificate(world: World) -> Certificate:
    case = make.running(world)
    make.searched(case, make.system_actor(world))
    issued = certificates.issue(case, make.facts())
    leases.close(case, RUNNER, "complete", {}, by=make.system_actor(world))
    return issued


def forged(certificate: Certificate, statement: str) -> str:
    """Return a certificate with a changed statement, signed with an unknown key."""
    content = json.loads(certificate.document)["content"] | {"statement": statement}
    return certificate_document.sign(content, Ed25519PrivateKey.generate())


def text(response: Any) -> str:
    return str(response.content.decode())


# ── The API ──────────────────────────────────────────────────────────────────
def test_anybody_may_check(world: World, certificate: Certificate) -> None:
    for api in (world.api("nobody"), world.api("ada"), world.session("viewer")):
        verdict = api.post(VERIFY, certificate.document).data
        assert verdict == {
            "valid": True, "intact": True, "key_id": certificate.key_id,
            "reasons": [], "explanations": [],
        }  # fmt: skip


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("?case_id=c_0000000000000000", "wrong_case"),
        ("?workspace_id=ws_0000000000000000", "wrong_workspace"),
    ],
)
def test_a_replayed_certificate(
    world: World, certificate: Certificate, query: str, reason: str
) -> None:
    verdict = world.api("nobody").post(VERIFY + query, certificate.document).data
    assert (verdict["valid"], verdict["reasons"]) == (False, [reason])
    assert verdict["explanations"] == [certificate_document.SENTENCES[reason]]


def test_each_fault_has_its_name(world: World, certificate: Certificate) -> None:
    document = json.loads(certificate.document)
    document["content"]["residue"]["found"] = 1
    anonymous = world.api("nobody")
    for body, reasons in (
        (json.dumps(document), ["tampered"]),
        (forged(certificate, "all clean"), ["unknown_key"]),
        ("{}", ["malformed"]),
        (b"\xff\x00", ["malformed"]),
        (b"", ["malformed"]),
    ):
        reply = anonymous.post(VERIFY, body)
        assert (reply.status, reply.data["reasons"]) == (200, reasons)
        assert reply.data["valid"] is False


def test_a_body_of_any_kind_is_answered(world: World, certificate: Certificate) -> None:
    reply = world.api("nobody").post(VERIFY, certificate.document, kind="text/plain")
    assert (reply.status, reply.data["valid"]) == (200, True)


def test_checking_leaves_no_trace(world: World, certificate: Certificate) -> None:
    before = JournalEntry.objects.count()
    world.api("nobody").post(VERIFY, certificate.document)
    Client().post(PAGE, {"text": certificate.document})
    assert JournalEntry.objects.count() == before


def test_the_keys_are_published(world: World, certificate: Certificate) -> None:
    [key] = world.api("nobody").get("/gdpr/keys").data["keys"]
    assert certificate_document.verify(
        certificate.document, {key["key_id"]: key["public_key"]}
    ).valid


def test_a_case_gives_its_certificate_byte_for_byte(
    world: World, certificate: Certificate
) -> None:
    reply = world.api("compliance").get(
        f"/gdpr/cases/{certificate.case_id}/certificate"
    )
    assert reply.body.decode() == certificate.document
    assert certificate.pk in reply.headers["Content-Disposition"]
    other = make.opened(world)
    reply = world.api("owner").get(f"/gdpr/cases/{other.id}/certificate")
    assert (reply.status, reply.code) == (404, "no_certificate")


# ── The page ─────────────────────────────────────────────────────────────────
def test_the_page_is_open_and_explains(client: Client, db: None) -> None:
    page = client.get(PAGE)
    assert page.status_code == 200
    assert "No login is needed" in text(page)
    assert "no-store" in page["Cache-Control"]
    assert reverse("certificate_check") == PAGE


@pytest.mark.parametrize("way", ["text", "file"])
def test_a_valid_one_says_what_it_proves_and_what_not(
    client: Client, certificate: Certificate, way: str
) -> None:
    file = SimpleUploadedFile("c.json", certificate.document.encode())
    fields = {"text": certificate.document} if way == "text" else {"file": file}
    page_text = text(client.post(PAGE, {**fields, "case_id": certificate.case_id}))
    for words in (
        "This certificate is valid",
        "What it proves",
        "What it does not prove",
        "blocks of the disk",
        certificate.case_id,
        "2,418 times",
    ):
        assert words in page_text, words


def test_one_that_does_not_hold_says_why(
    client: Client, certificate: Certificate
) -> None:
    page_text = text(
        client.post(PAGE, {"text": certificate.document, "case_id": "c_1"})
    )
    assert "This certificate does not hold" in page_text
    assert certificate_document.SENTENCES["wrong_case"] in page_text


def test_a_strangers_words_are_not_shown_as_ours(
    client: Client, certificate: Certificate
) -> None:
    lie = "<b>Everything of Maria is gone</b>"
    page_text = text(client.post(PAGE, {"text": forged(certificate, lie)}))
    verdict_part = page_text.split('id="h-keys"')[0]
    assert "Maria" not in verdict_part
    assert certificate_document.SENTENCES["unknown_key"] in page_text


@pytest.mark.parametrize(
    "body", ["<script>alert(1)</script>", '{"content": {}}', "\x00", "[" * 5_000]
)
def test_what_is_no_certificate(client: Client, db: None, body: str) -> None:
    page = client.post(PAGE, {"text": body})
    assert page.status_code in (200, 422)
    assert "<script>alert" not in text(page)
    assert "is valid" not in text(page)


def test_nothing_sent_is_asked_for(client: Client, db: None) -> None:
    page = client.post(PAGE, {})
    assert page.status_code == 422
    assert "Choose a file" in text(page)


def test_a_form_of_another_site_is_refused(certificate: Certificate) -> None:
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(PAGE, {"text": certificate.document}).status_code == 403


def test_signed_in_it_stands_in_the_frame(
    world: World, certificate: Certificate
) -> None:
    page = world.page("compliance").post(PAGE, {"text": certificate.document})
    assert "This certificate is valid" in text(page)

"""Certificates: issuing, and verification with its reasons."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from django.db import connection
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from gdpr.cases import leases
from gdpr.cases import workflow as cases
from gdpr.certificates import document as certificate_document
from gdpr.certificates import issue as certificates
from gdpr.certificates import statement
from gdpr.erasure import finish
from gdpr.models import Case, Certificate, SigningKey
from gdpr.verification import byte_search, postgres, write_ahead_log
from memory.journal import append as journal
from memory.rules import errors
from tests.gdpr import requests as make
from tests.gdpr.certified import altered, content_of, issued, reasons, signed
from tests.gdpr.requests import OTHER_HASH, RUNNER
from tests.world import World

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    """Give each test a key folder of its own."""
    settings.DATA_DIR = tmp_path
    return tmp_path / "keys"


# ── What is inside ───────────────────────────────────────────────────────────
def test_it_tells_what_was_done_and_names_nobody(world: World) -> None:
    certificate = issued(
        world, reason="Maria resigned", requester="Maria Keller", ticket="M-77"
    )
    content = content_of(certificate)
    case = Case.objects.get()
    assert content["case_id"] == case.id
    assert (content["result"], content["run"], content["replaces"]) == (
        "complete",
        1,
        None,
    )
    assert content["holders"] == {"journal": {"deleted": 2, "redacted": 1, "kept": 0}}
    assert content["approvals"] == {
        "count": 0, "two_persons": False, "break_glass": False,
    }  # fmt: skip
    assert len(content["does_not_prove"]) >= 4
    assert content["verdict"] == "complete"
    for word in ("Maria", "Keller", "M-77", "acme.example", "resigned"):
        assert word not in certificate.document


def test_two_libraries_and_two_standards_are_enough_to_check_it(world: World) -> None:
    document = json.loads(issued(world).document)
    signature = document["signature"]
    row = SigningKey.objects.get(key_id=signature["key_id"])
    key = Ed25519PublicKey.from_public_bytes(
        certificate_document.decode(row.public_key, 32)
    )
    value = certificate_document.decode(signature["value"], 64)
    key.verify(value, rfc8785.dumps(document["content"]))


def test_the_approval_is_counted(world: World) -> None:
    make.settings(world, two_person=True)
    by = world.actor("compliance")
    case = make.planned(make.opened(world), by)
    cases.approve(case, make.HASH, by=world.actor("owner"))
    case = make.fresh(case)
    case = cases.execute(case, make.HASH, cases.phrase(case, make.HASH), by=by)
    content = content_of(certificates.issue(case, make.facts()))
    assert content["approvals"] == {
        "count": 1,
        "two_persons": True,
        "break_glass": False,
    }


def test_each_case_has_certificates_of_its_own(world: World) -> None:
    first, second = issued(world), issued(world)
    assert first.pk != second.pk
    assert content_of(second)["case_id"] == second.case_id
    assert content_of(second)["replaces"] is None
    by = world.actor("compliance")
    for certificate in (first, second):
        assert certificates.of_case(by, certificate.case) == certificate


def test_without_a_certificate_there_is_none_to_show(world: World) -> None:
    certificate, case = issued(world), make.opened(world)
    with pytest.raises(errors.NotFound):
        certificates.of_case(world.actor("compliance"), case)
    with pytest.raises(errors.Forbidden):
        certificates.of_case(world.actor("ada"), certificate.case)
    with pytest.raises(errors.NotFound):
        certificates.of_case(world.actor("stranger"), certificate.case)


def test_the_content_says_when_and_how_it_came_about(world: World) -> None:
    case = make.running(world)
    kept_rows = statement.by_decision(
        {("journal", "somebody_else"): 2, ("files", "must_stay"): 3}
    )
    facts = make.facts(kept=kept_rows)
    content = content_of(certificates.issue(case, facts))
    assert content["workspace_id"] == world.acme.id
    assert content["subject_id"] == case.subject_ref
    assert content["received_at"] == journal.stamp(case.received_at)
    assert content["due_at"] == journal.stamp(case.due_at)
    assert content["started_at"] == journal.stamp(facts.started_at)
    assert (content["approved_at"], content["identity_verified"]) == (None, False)
    assert content["rows_spared"] == {
        "total": 5,
        "grounds": {"must_stay": 3, "somebody_else": 2},
    }
    assert set(content["software"]) == {"python", "django", connection.vendor}


def test_a_deadline_that_was_extended_is_the_deadline(world: World) -> None:
    case, moment = make.running(world), timezone.now() + timedelta(days=80)
    Case.objects.filter(pk=case.pk).update(
        extended_until=moment, approved_at=moment, identity_at=moment
    )
    content = content_of(certificates.issue(make.fresh(case), make.facts()))
    assert content["due_at"] == content["approved_at"] == journal.stamp(moment)
    assert content["identity_verified"] is True


@pytest.mark.parametrize(
    ("sentence", "is_gap"),
    [
        (finish.UNCONFIRMED.format(count=1, all=2), True),
        (write_ahead_log.NOT_ROTATED, True),
        (postgres.SAMPLES, True),
        ("A sentence that nobody declared.", True),
        (postgres.ELSEWHERE, False),
        (byte_search.TOO_SHORT_ONE, False),
        (byte_search.TOO_SHORT.format(count=3), False),
    ],
)
def test_what_this_run_could_have_searched_is_an_exception(
    world: World, sentence: str, is_gap: bool
) -> None:
    facts = make.facts(remains=[sentence])
    content = content_of(certificates.issue(make.running(world), facts))
    verdict = "complete_except" if is_gap else "complete"
    assert (content["result"], content["verdict"]) == ("complete", verdict)
    assert (sentence in content["statement"]) is is_gap
    left_out = {line["sentence"]: line["gap"] for line in content["not_searched"]}
    assert left_out[sentence] is is_gap


def test_issuing_twice_is_issuing_once(world: World) -> None:
    certificate = issued(world)
    second = certificates.issue(certificate.case, make.facts("partial"))
    assert (second.pk, second.document) == (certificate.pk, certificate.document)
    assert Certificate.objects.count() == 1
    with pytest.raises(errors.Invalid):
        certificates.issue(certificate.case, make.facts("splendid"))


def test_a_number_that_no_two_readers_agree_on_is_not_signed(world: World) -> None:
    case = make.running(world)
    with pytest.raises(certificate_document.Malformed):
        certificates.issue(case, make.facts(residue={"bytes": 2**60}))
    assert not Certificate.objects.exists()


def test_one_person_who_does_everything_is_not_two(world: World) -> None:
    by = world.actor("owner")
    case = make.planned(make.opened(world, "owner"), by)
    case = cases.execute(case, make.HASH, cases.phrase(case, make.HASH), by=by)
    Case.objects.filter(pk=case.pk).update(
        opened_by_id=by.id, executed_by_id=by.id, approved_by_id=by.id
    )
    content = content_of(certificates.issue(make.fresh(case), make.facts()))
    assert content["approvals"] == {
        "count": 1,
        "two_persons": False,
        "break_glass": False,
    }


# ── What can be wrong ────────────────────────────────────────────────────────
def test_a_good_one(world: World) -> None:
    certificate = issued(world)
    verdict = certificates.verify(certificate.document, case_id=certificate.case_id)
    assert (verdict.valid, verdict.reasons, verdict.key_id) == (
        True,
        [],
        certificate.key_id,
    )
    pretty = json.dumps(json.loads(certificate.document), indent=4)
    assert reasons(pretty) == []
    assert reasons("\ufeff" + pretty) == []


def test_every_single_byte_counts(world: World) -> None:
    certificate = issued(world)
    raw = certificate.document.encode()
    for place in range(len(raw)):
        forged = bytearray(raw)
        # A letter of the other case, and a neighbour, in turn.
        forged[place] ^= 0x20 if place % 2 else 0x01
        verdict = certificates.verify(bytes(forged))
        assert not verdict.valid, place
        assert verdict.reasons


@pytest.mark.parametrize(
    "fields",
    [
        {"result": "partial"},
        {"subject_id": "sub_0000000000000000"},
        {"residue": {"found": 0}},
        {"extra": 1},
        {"version": 1.5},
    ],
)
def test_changed_contents_are_tampered_with(
    world: World, fields: dict[str, Any]
) -> None:
    assert "tampered" in reasons(altered(issued(world), **fields))


def test_a_certificate_of_another_case(world: World) -> None:
    certificate = issued(world)
    assert reasons(certificate.document, case_id="c_0000000000000000") == ["wrong_case"]
    assert reasons(certificate.document, workspace=world.other.id) == [
        "wrong_workspace"
    ]


def test_a_key_that_nobody_knows(world: World) -> None:
    certificate = issued(world)
    forged = signed(content_of(certificate), Ed25519PrivateKey.generate())
    verdict = certificates.verify(forged)
    assert (verdict.reasons, verdict.intact) == (["unknown_key"], True)
    document = json.loads(forged)
    document["content"]["run"] = 2
    assert reasons(json.dumps(document)) == ["unknown_key", "tampered"]


def test_another_key_under_a_known_name(world: World) -> None:
    certificate = issued(world)
    document = json.loads(signed(content_of(certificate), Ed25519PrivateKey.generate()))
    document["signature"]["key_id"] = certificate.key_id
    assert "wrong_key" in reasons(json.dumps(document))
    document["content"]["key_id"] = certificate.key_id
    assert "wrong_key" in reasons(json.dumps(document))
    document["signature"]["public_key"] = json.loads(certificate.document)["signature"][
        "public_key"
    ]
    assert "tampered" in reasons(json.dumps(document))


def test_signed_here_but_never_issued(world: World) -> None:
    certificate = issued(world)
    content = content_of(certificate)
    assert reasons(signed({**content, "id": "cert_ffffffffffffffff"})) == [
        "not_recorded"
    ]
    assert reasons(signed({**content, "run": 7})) == ["not_as_recorded"]


def test_a_newer_one_replaces_it(world: World) -> None:
    by, system_actor = world.actor("compliance"), make.system_actor(world)
    case = make.running(world)
    make.searched(case, system_actor)
    first = certificates.issue(case, make.facts("partial"))
    case = leases.close(case, RUNNER, "partial", {}, by=system_actor)
    assert reasons(first.document) == []
    case = make.planned(case, by, OTHER_HASH)
    case = cases.execute(case, OTHER_HASH, cases.phrase(case, OTHER_HASH), by=by)
    second = certificates.issue(case, make.facts())
    assert [row.result for row in (first, second)] == ["partial", "complete"]
    assert content_of(second)["replaces"] == first.id
    assert reasons(first.document) == ["replaced"]
    assert reasons(second.document) == []
    assert certificates.of_case(by, case) == second


def test_a_future_version(world: World) -> None:
    content = content_of(issued(world))
    assert "future_version" in reasons(signed({**content, "version": 3}))


@pytest.mark.parametrize(
    "document",
    [
        b"", b"{", b"[]", b"null", b"\xff\xfe", b'"x"', b"NaN", "{}",
        '{"content": {}, "signature": {}}',
        '{"content": 1, "signature": 2}',
        '{"content": {"a": NaN}, "signature": {}}',
        '{"content": {"a": 1, "a": 2}, "signature": {}}',
        "[" * 100_000,
        '{"content": "' + "x" * 300_000 + '"}',
    ],
)  # fmt: skip
def test_what_is_no_certificate(document: str | bytes) -> None:
    assert reasons(document) == ["malformed"]


def test_nothing_unsigned_is_smuggled_in_beside_the_signature(world: World) -> None:
    document = json.loads(issued(world).document)
    assert reasons(json.dumps({**document, "note": "all clean"})) == ["malformed"]
    document["signature"]["note"] = "all clean"
    assert reasons(json.dumps(document)) == ["malformed"]


def test_a_missing_part_is_named_even_when_it_is_signed(world: World) -> None:
    content = content_of(issued(world))
    content.pop("case_id")
    assert "malformed" in reasons(signed(content))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON)
def test_no_json_whatever_makes_the_check_fall(value: Any) -> None:
    for document in (
        json.dumps(value),
        json.dumps({"content": value, "signature": value}),
    ):
        verdict = certificate_document.verify(document, {})
        assert (verdict.valid, verdict.reasons) == (False, ["malformed"])


@given(st.binary(max_size=200))
def test_no_bytes_whatever_do(raw: bytes) -> None:
    assert not certificate_document.verify(raw, {}).valid


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=6))
def test_what_is_signed_can_be_checked(extra: dict[str, Any]) -> None:
    private = Ed25519PrivateKey.generate()
    public = certificate_document.public_of(private)
    needs = {
        "id": "cert_1", "version": 1, "case_id": "c_1", "kind": "erasure",
        "result": "complete", "run": 1, "issued_at": "now",
    }  # fmt: skip
    try:
        document = certificate_document.sign({**extra, **needs}, private)
    except certificate_document.Malformed:
        return
    assert certificate_document.verify(
        document, {certificate_document.key_id(public): public}
    ).valid

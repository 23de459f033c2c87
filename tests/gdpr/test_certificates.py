"""Certificates: issuing, verification with its reasons, keys, the command."""

from __future__ import annotations

import json
import stat
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from gdpr.cases import leases
from gdpr.cases import workflow as cases
from gdpr.certificates import document as certificate_document
from gdpr.certificates import issue as certificates
from gdpr.certificates import keys as signing_keys
from gdpr.models import Case, Certificate, SigningKey
from memory.journal import append as journal
from memory.rules import errors
from tests.gdpr import requests as make
from tests.gdpr.requests import OTHER_HASH, RUNNER
from tests.world import World

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    """Give each test a key folder of its own."""
    settings.DATA_DIR = tmp_path
    return tmp_path / "keys"


def issued(world: World, **fields: Any) -> Certificate:
    """Return the certificate of a complete erasure."""
    case = make.running(world, **fields)
    make.searched(case, make.system_actor(world))
    certificate = certificates.issue(case, make.facts())
    leases.close(case, RUNNER, "complete", {}, by=make.system_actor(world))
    return certificate


def reasons(document: Any, **options: Any) -> list[str]:
    """Return a document's reasons for rejection."""
    verdict = certificates.verify(document, **options)
    assert verdict.valid is (not verdict.reasons)
    return verdict.reasons


def altered(certificate: Certificate, **fields: Any) -> str:
    """Return a certificate with other content and the old signature."""
    document = json.loads(certificate.document)
    document["content"].update(fields)
    return json.dumps(document)


def signed(content: dict[str, Any], private: Ed25519PrivateKey | None = None) -> str:
    """Return content signed with the installation's key, or another one."""
    return certificate_document.sign(content, private or signing_keys.current()[1])


def content_of(certificate: Certificate) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(certificate.document)["content"]
    return parsed


# ── What is inside ───────────────────────────────────────────────────────────
def test_it_tells_what_was_done_and_names_nobody(world: World) -> None:
    certificate = issued(
        world, reason="Maria left", requester="Maria Keller", ticket="M-77"
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
    for word in ("Maria", "Keller", "M-77", "acme.example", "left"):
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


@pytest.mark.parametrize(
    ("kind", "result", "words"),
    [
        ("erasure", "complete", "nothing was found"),
        ("erasure", "partial", "carried out in part"),
        ("access", "complete", "was carried out."),
    ],
)
def test_the_sentence_says_no_more_than_was_done(
    world: World, kind: str, result: str, words: str
) -> None:
    case = make.opened(world, kind=kind)
    statement = certificates.statement(case, make.facts(result))
    assert words in statement
    assert ("nothing was found" in statement) is (
        kind == "erasure" and result == "complete"
    )


def test_it_counts_the_rows_that_a_person_decided_to_keep() -> None:
    case = Case(kind="erasure", subject_ref="sub_1")
    for grounds, words in (
        ({}, "and nothing was found."),
        ({"somebody_else": 1}, "nothing was found but in a row that a person decided"),
        ({"somebody_else": 2, "law": 3}, "nothing was found but in 5 rows that a"),
    ):
        statement = certificates.statement(case, make.facts(spared_grounds=grounds))
        assert words in statement
        assert "sub_1" in statement


def test_the_content_says_when_and_how_it_came_about(world: World) -> None:
    case = make.running(world)
    grounds = {"somebody_else": 2, "law": 3}
    facts = make.facts(spared_grounds=grounds)
    content = content_of(certificates.issue(case, facts))
    assert content["workspace_id"] == world.acme.id
    assert content["subject_id"] == case.subject_ref
    assert content["received_at"] == journal.stamp(case.received_at)
    assert content["due_at"] == journal.stamp(case.due_at)
    assert content["started_at"] == journal.stamp(facts.started_at)
    assert (content["approved_at"], content["identity_verified"]) == (None, False)
    assert content["rows_spared"] == {"total": 5, "grounds": grounds}
    assert set(content["software"]) == {"python", "django", connection.vendor}


def test_a_deadline_that_was_extended_is_the_deadline(world: World) -> None:
    case, moment = make.running(world), timezone.now() + timedelta(days=80)
    Case.objects.filter(pk=case.pk).update(
        extended_until=moment, approved_at=moment, identity_at=moment
    )
    content = content_of(certificates.issue(make.fresh(case), make.facts()))
    assert content["due_at"] == content["approved_at"] == journal.stamp(moment)
    assert content["identity_verified"] is True


def test_what_it_does_not_prove_depends_on_the_kind_and_the_database(
    world: World,
) -> None:
    make.settings(world, backup_days=10)
    now = datetime(2026, 1, 25, 12, tzinfo=UTC)

    def limits(kind: str) -> list[str]:
        case = Case(kind=kind, workspace_id=world.acme.id)
        return certificates.limits(case, now, ["Something else."])

    assert limits("access") == ["Something else.", certificates.COPIES]
    on_postgres = connection.vendor == "postgresql"
    for kind, after in (("erasure", "replays"), ("rectification", "rectify it again")):
        texts = limits(kind)
        assert (certificates.REPLICAS in texts) is on_postgres
        assert {certificates.MEDIUM, certificates.COPIES, "Something else."} < {*texts}
        [backups] = [text for text in texts if "backups made before" in text]
        assert "2026-02-04" in backups
        assert after in backups


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
        for flip in (0x01, 0x20):
            forged = bytearray(raw)
            forged[place] ^= flip
            verdict = certificates.verify(bytes(forged))
            assert not verdict.valid, (place, flip)
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
    assert "future_version" in reasons(signed({**content, "version": 2}))


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


# ── Keys ─────────────────────────────────────────────────────────────────────
def test_a_key_is_made_at_first_use_and_kept_apart(folder: Path) -> None:
    row, private = signing_keys.current()
    assert signing_keys.current()[0] == row
    [file] = [path for path in folder.iterdir() if row.key_id in path.name]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    raw = private.private_bytes_raw()
    for value in SigningKey.objects.values().get().values():
        assert raw not in str(value).encode()
        assert certificate_document.encode(raw) not in str(value)


def test_rotation_keeps_what_was_signed_true(world: World, folder: Path) -> None:
    certificate = issued(world)
    old = certificate.key_id
    fresh, retired = signing_keys.rotate()
    assert [row.key_id for row in retired] == [old]
    assert not [path for path in folder.iterdir() if old in path.name]
    assert reasons(certificate.document) == []
    assert signing_keys.current()[0] == fresh
    assert [row.key_id for row in signing_keys.published()] == [fresh.key_id, old]
    [entry] = make.entries(world, "gdpr.key_rotated")
    assert entry.payload == {"key_id": fresh.key_id, "retired": [old]}


def test_a_retired_key_signs_no_more_though_the_clock_was_set_back(
    folder: Path,
) -> None:
    old, _ = signing_keys.current()
    fresh, _ = signing_keys.rotate()
    SigningKey.objects.filter(pk=old.pk).update(made_at=fresh.made_at + timedelta(1))
    assert signing_keys.problem() is None
    assert signing_keys.current()[0] == fresh


def test_rotating_again_retires_the_last_key_alone(folder: Path) -> None:
    first, _ = signing_keys.current()
    second, _ = signing_keys.rotate()
    retired_at = SigningKey.objects.get(pk=first.pk).retired_at
    assert retired_at is not None
    third, retired = signing_keys.rotate()
    assert retired == [second]
    assert SigningKey.objects.get(pk=first.pk).retired_at == retired_at
    assert [row.pk for row in SigningKey.objects.filter(retired_at=None)] == [third.pk]


def test_a_lost_file_is_replaced_by_rotating_alone(folder: Path) -> None:
    first, _ = signing_keys.current()
    for path in folder.glob("certificates-*"):
        path.unlink()
    with pytest.raises(errors.Unavailable, match="gdpr_key rotate"):
        signing_keys.current()
    signing_keys.rotate()
    assert signing_keys.current()[0].key_id != first.key_id


def test_a_file_that_is_not_the_key_on_record_signs_nothing(folder: Path) -> None:
    row, private = signing_keys.current()
    [file] = folder.glob("certificates-*")
    assert signing_keys.problem() is None
    good, pem = file.read_bytes(), serialization.Encoding.PEM
    pkcs8, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    other = Ed25519PrivateKey.generate().private_bytes(pem, pkcs8, plain)
    exchange = X25519PrivateKey.generate().private_bytes(pem, pkcs8, plain)
    for raw, reason in (
        (other, "is not the key on record"),
        (exchange, "cannot be read as a key"),
        (b"nonsense", "cannot be read as a key"),
    ):
        file.write_bytes(raw)
        assert reason in str(signing_keys.problem())
        with pytest.raises(errors.Unavailable, match=reason):
            signing_keys.current()
    file.write_bytes(good)
    again, key = signing_keys.current()
    assert (again, key.private_bytes_raw()) == (row, private.private_bytes_raw())


def test_a_key_is_rotated_by_hand(world: World) -> None:
    out = StringIO()
    call_command("gdpr_key", "rotate", "--json", stdout=out)
    report = json.loads(out.getvalue())
    assert report["key_id"] == signing_keys.current()[0].key_id
    out = StringIO()
    call_command("gdpr_key", "list", stdout=out)
    assert report["public_key"] in out.getvalue()


# ── The command ──────────────────────────────────────────────────────────────
def verified(path: Path, *args: str) -> dict[str, Any]:
    """Return the command's output, whether it fails or not."""
    out = StringIO()
    try:
        call_command("gdpr_verify", str(path), "--json", *args, stdout=out)
    except CommandError:
        assert not json.loads(out.getvalue())["valid"]
    else:
        assert json.loads(out.getvalue())["valid"]
    parsed: dict[str, Any] = json.loads(out.getvalue())
    return parsed


def test_the_command_tells_what_the_service_tells(world: World, tmp_path: Path) -> None:
    certificate = issued(world)
    file = tmp_path / "certificate.json"
    file.write_text(certificate.document)
    assert verified(file, "--case", certificate.case_id)["valid"]
    assert verified(file, "--case", "c_1")["reasons"] == ["wrong_case"]
    file.write_text(altered(certificate, run=2))
    assert verified(file)["reasons"] == ["tampered"]
    file.write_text("hello")
    assert verified(file)["reasons"] == ["malformed"]
    out = StringIO()
    file.write_text(certificate.document)
    call_command("gdpr_verify", str(file), stdout=out)
    assert "What it does not prove" in out.getvalue()


def test_with_a_public_key_no_database_is_asked(
    world: World, tmp_path: Path, django_assert_num_queries: Any
) -> None:
    certificate = issued(world)
    row = SigningKey.objects.get()
    file, keys = tmp_path / "certificate.json", tmp_path / "keys.json"
    file.write_text(certificate.document)
    keys.write_text(json.dumps({"keys": [{"public_key": row.public_key}]}))
    other = certificate_document.public_of(Ed25519PrivateKey.generate())
    with django_assert_num_queries(0):
        assert verified(file, "--public-key", row.public_key)["valid"]
        assert verified(file, "--public-key", str(keys))["valid"]
        report = verified(file, "--public-key", other)
        assert report["reasons"] == ["unknown_key"]
        with pytest.raises(CommandError):
            call_command("gdpr_verify", str(file), "--public-key", "nonsense")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CommandError):
        call_command("gdpr_verify", str(tmp_path / "none.json"))


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


def test_a_statement_tells_what_was_sought_in_no_text(world: World) -> None:
    case = make.running(world)
    assert "ordinary" not in certificates.statement(case, make.facts())
    identifiers = {"sought_as_words": 1, "sought_in_links_and_fields": 2}
    statement = certificates.statement(
        case, make.facts(residue={"identifiers": identifiers})
    )
    assert "2 identifiers, ordinary words or numbers, were sought only in" in statement
    identifiers["sought_in_links_and_fields"] = 1
    statement = certificates.statement(
        case, make.facts(residue={"identifiers": identifiers})
    )
    assert "1 identifier, an ordinary word or a number, was sought only" in statement

"""Identifiers in a certificate: digests, check codes, and who can test a guess."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from gdpr.certificates import document as certificate_document
from gdpr.certificates import identifiers, statement
from gdpr.certificates import issue as certificates
from gdpr.certificates.identifiers import Sought, SoughtIn
from gdpr.matching.matcher import Name
from gdpr.models import Certificate, SigningKey
from memory.journal import append as journal
from memory.rules import errors, permissions
from tests.gdpr import erasing
from tests.gdpr import requests as make
from tests.gdpr.certified import content_of, reasons, signed
from tests.project import source
from tests.world import World

CODE = "ab" * 32
SCRIPT = source.ROOT / "static/certificates/check_certificate.py"
ALL = (SoughtIn.TEXTS, SoughtIn.FIELDS, SoughtIn.BYTES)


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path


@pytest.fixture
def certificate(world: World) -> Certificate:
    facts = make.facts(identifiers=[Sought("email", erasing.MAIL, ALL)])
    return certificates.issue(make.running(world), facts)


# ── Digests ──────────────────────────────────────────────────────────────────
@given(st.text(max_size=20), st.sampled_from(["  {}\n", "{}", "\t{}"]))
def test_blanks_capitals_and_normal_forms_do_not_count(text: str, spaced: str) -> None:
    plain = identifiers.canonical("name", text)
    assert identifiers.canonical("name", spaced.format(text)) == plain
    assert plain.startswith(b"name\x00")


@pytest.mark.parametrize(
    ("one", "other"),
    [("Zoë@Example.org", "zoë@example.ORG "), ("STRASSE", "straße"), ("A\u030a", "Å")],
)
def test_these_are_one_identifier(one: str, other: str) -> None:
    digests = {identifiers.digest(CODE, "name", text) for text in (one, other)}
    assert len(digests) == 1
    assert identifiers.digest(CODE, "handle", one) not in digests


def test_no_check_code_says_anything_about_another_certificate() -> None:
    codes = {identifiers.check_code(b"key", f"cert_{n}") for n in range(20)}
    assert len(codes) == 20
    assert identifiers.check_code(b"other", "cert_1") not in codes


def test_the_certificate_alone_tests_no_guess(certificate: Certificate) -> None:
    content = content_of(certificate)
    code = certificates.check_code(certificate_reader(certificate), certificate)
    assert code not in certificate.document
    assert erasing.MAIL not in certificate.document
    [line] = content["identifiers"]["list"]
    guesses = [content["id"], content["key_id"], content["installation"], ""]
    digests = {
        identifiers.digest(guess.encode().hex(), "email", erasing.MAIL)
        for guess in guesses
    }
    assert line["digest"] not in digests


def certificate_reader(certificate: Certificate) -> Any:
    return permissions.system(certificate.workspace_id, "gdpr")


# ── The check code ───────────────────────────────────────────────────────────
def test_the_code_is_for_those_who_handle_cases(
    world: World, certificate: Certificate
) -> None:
    code = certificates.check_code(world.actor("compliance"), certificate)
    assert re.fullmatch("[0-9a-f]{64}", code)
    with pytest.raises(errors.Forbidden):
        certificates.check_code(world.actor("viewer"), certificate)
    with pytest.raises(errors.NotFound):
        certificates.check_code(world.actor("stranger"), certificate)


def test_after_another_key_there_is_no_code_rather_than_a_wrong_one(
    world: World, certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "key", lambda: b"another")
    assert certificates.check_code(world.actor("compliance"), certificate) == ""


# ── Where each was sought ────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("kind", "value", "places"),
    [
        ("email", erasing.MAIL, {"texts", "fields", "bytes"}),
        ("name", erasing.NAME, {"texts", "fields", "bytes"}),
        ("handle", "may", {"fields"}),
        ("phone", "123", set()),
        ("phone", "+49 170 1234567", {"texts", "fields", "bytes"}),
        ("name", "李明", {"texts", "fields", "bytes"}),
        ("pattern", "acct-*-42", {"texts", "fields"}),
    ],
)
def test_it_says_where_an_identifier_was_sought(
    kind: str, value: str, places: set[str]
) -> None:
    [line] = identifiers.sought([Name("sub_1", kind, value)], [])
    assert set(line.sought_in) == places


def test_a_name_that_stays_somewhere_is_not_sought_in_bytes() -> None:
    [line] = identifiers.sought(
        [Name("sub_1", "email", "a.b@c.example")], ["a.b@c.example"]
    )
    assert SoughtIn.BYTES not in line.sought_in


def test_one_that_could_not_be_sought_is_an_exception(world: World) -> None:
    facts = make.facts(identifiers=[Sought("phone", "12", ())])
    content = content_of(certificates.issue(make.running(world), facts))
    assert content["verdict"] == "complete_except"
    assert statement.UNSOUGHT_ONE in content["statement"]


def test_hundreds_fit_and_the_rest_is_counted(world: World) -> None:
    lines = [Sought("email", f"a{n}@b.example", ALL) for n in range(800)]
    certificate = certificates.issue(make.running(world), make.facts(identifiers=lines))
    listed = content_of(certificate)["identifiers"]
    assert (listed["count"], len(listed["list"])) == (800, identifiers.MAX_LISTED)
    assert listed["not_listed"] == {"email": 300}
    assert len(certificate.document) < certificate_document.MAX_BYTES
    assert reasons(certificate.document) == []
    digests = [line["digest"] for line in listed["list"]]
    assert digests == sorted(digests)


# ── A stranger's script ──────────────────────────────────────────────────────
def _script(tmp_path: Path, document: str, keys: Any, *asked: str) -> tuple[int, str]:
    """Run the script in a process of its own; return its code and what it said."""
    (tmp_path / "certificate.json").write_text(document)
    (tmp_path / "keys.json").write_text(json.dumps(keys))
    command = [sys.executable, "-I", str(SCRIPT), "certificate.json", "keys.json"]
    result = subprocess.run(
        [*command, *asked], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    return result.returncode, result.stdout + result.stderr


def test_a_stranger_needs_thirty_lines_and_two_libraries() -> None:
    lines = SCRIPT.read_text().splitlines()
    assert len(lines) <= 30
    modules = {line.split()[1].partition(".")[0] for line in lines if "import " in line}
    foreign = modules - sys.stdlib_module_names
    assert foreign == {"rfc8785", "cryptography"}


def test_the_readme_has_the_script_as_it_is_served() -> None:
    readme = (source.ROOT / "gdpr/README.md").read_text()
    assert f"```python\n{SCRIPT.read_text()}```" in readme


def test_the_script_verifies_and_finds_the_identifier(
    world: World, certificate: Certificate, tmp_path: Path
) -> None:
    keys = world.api("nobody").get("/gdpr/keys").data
    code = certificates.check_code(world.actor("compliance"), certificate)

    def run(*asked: str, document: str = certificate.document) -> tuple[int, str]:
        return _script(tmp_path, document, keys, *asked)

    status, reading = run(code, "email", f" {erasing.MAIL.upper()}")
    assert (status, "The signature holds." in reading) == (0, True), reading
    assert "It was sought in bytes fields texts" in reading
    assert run(code, "email", "else@x.example") == (
        1,
        f"{reading.splitlines()[0]}\nIt is not listed.\n",
    )
    assert "not this certificate's" in run("00" * 32, "email", erasing.MAIL)[1]
    forged = certificate.document.replace('"result":"complete"', '"result":"partial"')
    status, reading = run(document=forged)
    assert (status, "InvalidSignature" in reading) == (1, True)


def test_the_script_verifies_a_certificate_of_version_1(tmp_path: Path) -> None:
    document = (source.ROOT / "tests/gdpr/certificate_v1.json").read_text()
    signature = json.loads(document)["signature"]
    status, reading = _script(tmp_path, document, {"keys": [signature]})
    assert (status, "The signature holds." in reading) == (0, True), reading


# ── On the public page ───────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "What you entered was among the registered identifiers"),
        ({"value": "else@x.example"}, "is not among the identifiers that are listed"),
        ({"kind": "name"}, "is not among the identifiers that are listed"),
        ({"check_code": "00" * 32}, "The check code is not this certificate’s"),
        ({"check_code": "no code"}, "The check code is not this certificate’s"),
        ({"value": ""}, "Give the code and what to look for."),
    ],
)
def test_whoever_has_the_code_can_look_an_identifier_up(
    world: World, certificate: Certificate, change: dict[str, str], words: str
) -> None:
    code = certificates.check_code(world.actor("compliance"), certificate)
    fields = {"check_code": code, "kind": "email", "value": erasing.MAIL, **change}
    page = Client().post(
        "/certificates/check/", {"text": certificate.document, **fields}
    )
    assert words in page.content.decode()


def test_without_a_code_nothing_is_looked_up(certificate: Certificate) -> None:
    page = Client().post("/certificates/check/", {"text": certificate.document})
    assert "What you entered" not in page.content.decode()


def test_only_the_page_for_compliance_shows_the_code(
    world: World, certificate: Certificate
) -> None:
    code = certificates.check_code(world.actor("compliance"), certificate)
    page = world.page("compliance").get(f"/privacy/certificates/{certificate.pk}/")
    assert code in page.content.decode()
    page = Client().post("/certificates/check/", {"text": certificate.document})
    assert code not in page.content.decode()


@pytest.fixture
def old(world: World) -> Certificate:
    """Record a certificate that version 1 signed, with its key."""
    document = (source.ROOT / "tests/gdpr/certificate_v1.json").read_text()
    content, signature = json.loads(document).values()
    SigningKey.objects.create(
        key_id=signature["key_id"],
        public_key=signature["public_key"],
        retired_at=timezone.now(),
    )
    return Certificate.objects.create(
        id=content["id"], workspace=world.acme, case=make.opened(world), run=1,
        result="complete", document=document, key_id=signature["key_id"],
    )  # fmt: skip


# ── Version 1 ────────────────────────────────────────────────────────────────
def test_a_certificate_of_version_1_is_verified_and_shown_as_it_was(
    world: World, old: Certificate
) -> None:
    assert reasons(old.document) == []
    page = Client().post("/certificates/check/", {"text": old.document})
    text = page.content.decode()
    assert "This certificate is valid" in text
    assert "every retrieval path and the bytes of every file were searched" in text
    assert "Journal" in text
    assert "What was not searched" not in text
    assert certificates.check_code(world.actor("compliance"), old) == ""
    german = Client().post(
        "/certificates/check/", {"text": old.document},
        headers={"Accept-Language": "de"},
    )  # fmt: skip
    assert "wurde für die erfassten Bezeichner ausgeführt" in german.content.decode()


def test_the_command_prints_the_lists_of_either_version(
    old: Certificate, certificate: Certificate, tmp_path: Path
) -> None:
    printed = []
    for row in (old, certificate):
        file, out = tmp_path / "certificate.json", io.StringIO()
        file.write_text(row.document)
        call_command("gdpr_verify", str(file), stdout=out)
        printed.append(out.getvalue())
    assert "What it does not prove:" in printed[0]
    assert "Identifiers sought" not in printed[0]
    for title in ("Identifiers sought (1):", "In these forms:", "Not searched:",
                  "Identity:", "What it does not prove:"):  # fmt: skip
        assert title in printed[1], title


def test_a_document_of_version_2_without_its_lists_is_none(
    certificate: Certificate,
) -> None:
    content = content_of(certificate)
    for name in certificate_document.LISTS_NEED:
        less = {key: value for key, value in content.items() if key != name}
        assert "malformed" in reasons(signed(less))

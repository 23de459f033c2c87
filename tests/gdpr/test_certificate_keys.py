"""The keys that certificates are signed with, and the command that checks one."""

from __future__ import annotations

import json
import stat
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
)
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from django.core.management import CommandError, call_command

from gdpr.certificates import document as certificate_document
from gdpr.certificates import keys as signing_keys
from gdpr.models import SigningKey
from memory.rules import errors
from tests.gdpr import requests as make
from tests.gdpr.certified import altered, issued, reasons
from tests.world import World

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    """Give each test a key folder of its own."""
    settings.DATA_DIR = tmp_path
    return tmp_path / "keys"


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

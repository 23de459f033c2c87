"""The keys that sign certificates: made at first use, stored outside the database.

The private key is a PEM file of mode 0600 in ``DATA_DIR/keys``; the database holds
only the public key, so a copy of it cannot sign. Where keys are in the database, it is
sealed under CREWSHIP_SECRET_KEY, without which a copy cannot sign either. A retired key
stays published, so that what it signed can still be verified.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from gdpr.certificates import document
from gdpr.models import SigningKey
from memory.installation import bodies, key_files, sealed_keys
from memory.installation import identity as installation
from memory.journal import append as journal
from memory.models import Workspace
from memory.rules import errors, permissions
from memory.rules.entries import NewEntry, Severity

PREFIX: Final = "certificates-"
SUFFIX: Final = ".pem"


def _path(key_id: str) -> Path:
    return Path(settings.DATA_DIR) / "keys" / f"{PREFIX}{key_id}{SUFFIX}"


def _pem(key_id: str) -> bytes:
    """Return the file of a private key; raise FileNotFoundError or ValueError."""
    if not bodies.in_database():
        return _path(key_id).read_bytes()
    try:
        text = sealed_keys.read(f"{PREFIX}{key_id}")
    except sealed_keys.Broken as error:
        raise ValueError(str(error)) from None
    if not text:
        raise FileNotFoundError
    return text.encode()


def _load(key_id: str) -> Ed25519PrivateKey:
    key = serialization.load_pem_private_key(_pem(key_id), None)
    if not isinstance(key, Ed25519PrivateKey):
        raise errors.Unavailable(reason="the signing key's file holds another key")
    return key


def _make() -> SigningKey:
    """Make a key: the file before the row, so that no row lacks its file."""
    private = Ed25519PrivateKey.generate()
    public = document.public_of(private)
    name = document.key_id(public)
    pem = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    if bodies.in_database():
        sealed_keys.make(f"{PREFIX}{name}", pem.decode("ascii"))
    else:
        key_files.replace(_path(name), pem.decode("ascii"))
    return SigningKey.objects.create(key_id=name, public_key=public)


def problem() -> str | None:
    """Return what is wrong with the signing key, None when it is fine or not yet made.

    Only ``rotate`` replaces a lost key.
    """
    row = SigningKey.objects.filter(retired_at=None).order_by("-made_at").first()
    if row is None:
        return None
    way = "bring it back, or run manage.py gdpr_key rotate."
    name = f"keys/{_path(row.key_id).name}"
    if bodies.in_database():
        name = f"The sealed key {PREFIX}{row.key_id} of the database"
    try:
        private = _load(row.key_id)
    except FileNotFoundError:
        return f"{name} is missing and signs certificates: {way}"
    except (OSError, ValueError, errors.AppError):
        return f"{name} cannot be read as a key: {way}"
    if document.public_of(private) != row.public_key:
        return f"{name} is not the key on record: {way}"
    return None


def current() -> tuple[SigningKey, Ed25519PrivateKey]:
    """Return the signing key, made when there never was one.

    Raises Unavailable when the key on record is missing: silently making a new one
    would hide the loss.
    """
    reason = problem()
    if reason is not None:
        raise errors.Unavailable(reason=reason.rstrip("."))
    row = SigningKey.objects.filter(retired_at=None).order_by("-made_at").first()
    row = row or _make()
    return row, _load(row.key_id)


def rotate() -> tuple[SigningKey, list[SigningKey]]:
    """Make a new key and retire the earlier ones, whose files are deleted.

    Recorded in every workspace's journal, for those who verify certificates.
    """
    with transaction.atomic():
        rows = SigningKey.objects.select_for_update().filter(retired_at=None)
        old = list(rows)
        rows.update(retired_at=timezone.now())
        new_key = _make()
        installation.forget()
        for workspace_id in Workspace.objects.values_list("pk", flat=True):
            _record(workspace_id, new_key, old)
    for row in old:
        sealed_keys.remove(f"{PREFIX}{row.key_id}")
        _path(row.key_id).unlink(missing_ok=True)
    return new_key, old


def _record(workspace_id: str, new_key: SigningKey, old: list[SigningKey]) -> None:
    new = NewEntry(
        entry_type="gdpr.key_rotated",
        severity=Severity.NOTICE,
        summary=f"Certificates are signed with {new_key.key_id} from now on",
        payload={"key_id": new_key.key_id, "retired": [row.key_id for row in old]},
    )
    journal.write([new], by=permissions.system(workspace_id, "gdpr"))


def published() -> list[SigningKey]:
    """Return every public key ever used, newest first."""
    return list(SigningKey.objects.order_by("-made_at", "key_id"))


def trusted() -> dict[str, str]:
    """Return key id → public key of all keys of this installation."""
    return {row.key_id: row.public_key for row in published()}

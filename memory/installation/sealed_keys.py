"""Keys in the database, for an installation on several machines.

AES-GCM under a key that HKDF derives from CREWSHIP_SECRET_KEY for each name, so that
this one secret is all that a machine has to be given. The associated data binds a
ciphertext to its name: copied to another row it does not decrypt.
"""

from __future__ import annotations

import base64
import os
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.db import transaction

from memory.models import SealedKey

_DOMAIN: Final = b"crewship sealed key v1\x00"
_NONCE: Final = 12
_KEY_BYTES: Final = 32


class Broken(Exception):
    """A sealed key does not decrypt: another secret, another row, or changed bytes."""


def _secret() -> str:
    return "" if settings.SECRET_KEY_IS_MADE_UP else str(settings.SECRET_KEY)


def _cipher(secret: str, name: str) -> AESGCM:
    derivation = HKDF(SHA256(), _KEY_BYTES, None, _DOMAIN + name.encode())
    return AESGCM(derivation.derive(secret.encode()))


def _sealed(secret: str, name: str, text: str) -> str:
    if not secret:
        raise Broken
    nonce = os.urandom(_NONCE)
    ciphertext = _cipher(secret, name).encrypt(nonce, text.encode(), name.encode())
    return base64.b64encode(nonce + ciphertext).decode()


def _opened(secret: str, row: SealedKey) -> str:
    try:
        raw = base64.b64decode(row.sealed, validate=True)
        cipher = _cipher(secret, row.name)
        text = cipher.decrypt(raw[:_NONCE], raw[_NONCE:], row.name.encode())
    except (InvalidTag, ValueError):
        raise Broken from None
    return text.decode()


def read(name: str) -> str:
    """Return a key, "" where there is none; raise Broken where it does not open."""
    row = SealedKey.objects.filter(pk=name).first()
    return _opened(_secret(), row) if row is not None else ""


def get(name: str) -> str:
    """Return a key, "" where there is none or it does not open."""
    try:
        return read(name)
    except Broken:
        return ""


def make(name: str, text: str) -> str:
    """Store a key unless there is one; return the one that is stored."""
    row, _ = SealedKey.objects.get_or_create(
        name=name, defaults={"sealed": _sealed(_secret(), name, text)}
    )
    return _opened(_secret(), row)


def remove(name: str) -> bool:
    """Remove a key; return whether there was one."""
    return bool(SealedKey.objects.filter(pk=name).delete()[0])


def remove_closed() -> list[str]:
    """Remove the keys that do not open with the present secret; return their names."""
    names = []
    for row in SealedKey.objects.all():
        try:
            _opened(_secret(), row)
        except Broken:
            names.append(row.name)
            row.delete()
    return names


def names(prefix: str) -> list[str]:
    """Return the names that begin with a prefix."""
    rows = SealedKey.objects.filter(name__startswith=prefix)
    return sorted(rows.values_list("name", flat=True))


def reseal(former: str) -> int:
    """Seal every key under the present secret; raise Broken, and change nothing.

    ``former`` is the secret that they are sealed under. Returns how many there are.
    """
    with transaction.atomic():
        rows = list(SealedKey.objects.select_for_update())
        for row in rows:
            row.sealed = _sealed(_secret(), row.name, _opened(former, row))
            row.save(update_fields=["sealed"])
    return len(rows)

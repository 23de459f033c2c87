"""Stored secrets, encrypted with a key that is not in the database.

AES-GCM with a key derived per purpose from ``keys/gateway.key``. The associated data
binds a ciphertext to its row: copied to another row it does not decrypt.
"""

from __future__ import annotations

import base64
import hashlib
import os
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from memory.installation import identity as installation

VERSION: Final = "v1."
NONCE_BYTES: Final = 12


class Broken(Exception):
    """A secret does not decrypt: another key, another row, or changed bytes."""


def _cipher(purpose: str, key: bytes) -> AESGCM:
    return AESGCM(hashlib.sha256(purpose.encode() + key).digest())


def seal(text: str, *, purpose: str, bound_to: str) -> str:
    """Return a secret encrypted for this installation and this row."""
    nonce = os.urandom(NONCE_BYTES)
    cipher = _cipher(purpose, installation.key("gateway"))
    ciphertext = cipher.encrypt(nonce, text.encode(), bound_to.encode())
    return VERSION + base64.b64encode(nonce + ciphertext).decode()


def unseal(text: str, *, purpose: str, bound_to: str) -> str:
    """Return the decrypted secret, or raise Broken."""
    cipher = _cipher(purpose, installation.key("gateway"))
    return _decrypt(cipher, text, bound_to)


def opens(key: str, text: str, *, purpose: str, bound_to: str) -> bool:
    """Whether a key is the one that a secret was encrypted with."""
    try:
        _decrypt(_cipher(purpose, key.encode()), text, bound_to)
    except Broken:
        return False
    return True


def _decrypt(cipher: AESGCM, text: str, bound_to: str) -> str:
    try:
        raw = base64.b64decode(text.removeprefix(VERSION), validate=True)
        nonce, ciphertext = raw[:NONCE_BYTES], raw[NONCE_BYTES:]
        return cipher.decrypt(nonce, ciphertext, bound_to.encode()).decode()
    except (InvalidTag, ValueError):
        raise Broken from None

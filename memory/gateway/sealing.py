"""Secrets that must be sent again: sealed with a key of their own, bound to their row.

The seal is AES-GCM under ``keys/gateway.key``, which lies apart from the database: a
copy of the database alone opens nothing, and a seal moved to another row does not open.
"""

from __future__ import annotations

import base64
import hashlib
import os
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from memory import installation
from memory.gateway.config import Secret

VERSION: Final = "v1."
NONCE_BYTES: Final = 12


class Broken(Exception):
    """A seal does not open: another key, another row, or changed bytes."""


def _cipher() -> AESGCM:
    return _cipher_of(installation.key("gateway"))


def _cipher_of(key: bytes) -> AESGCM:
    return AESGCM(hashlib.sha256(b"crewship.gateway.seal" + key).digest())


def seal(secret: Secret, bound_to: str) -> str:
    """Return a secret as text that only this installation and this row can open."""
    nonce = os.urandom(NONCE_BYTES)
    plain = secret.reveal().encode()
    closed = _cipher().encrypt(nonce, plain, bound_to.encode())
    return VERSION + base64.b64encode(nonce + closed).decode()


def unseal(text: str, bound_to: str) -> Secret:
    """Return the secret again, or raise Broken."""
    return _opened(_cipher(), text, bound_to)


def opens(key: str, text: str, bound_to: str) -> bool:
    """Whether a key is the one that a secret was sealed with."""
    try:
        _opened(_cipher_of(key.encode()), text, bound_to)
    except Broken:
        return False
    return True


def _opened(cipher: AESGCM, text: str, bound_to: str) -> Secret:
    try:
        raw = base64.b64decode(text.removeprefix(VERSION), validate=True)
        nonce, closed = raw[:NONCE_BYTES], raw[NONCE_BYTES:]
        return Secret(cipher.decrypt(nonce, closed, bound_to.encode()).decode())
    except (InvalidTag, ValueError):
        raise Broken from None

"""Columns that are encrypted with a key of this installation: AES-256-GCM.

The key is derived from the journal's for each row, so that no database and no search of
its bytes shows what is inside. The associated data is the row's name: copied to another
row, a value does not open.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Any, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.utils.translation import gettext_noop

from gdpr import encrypted_file
from memory.journal import append as journal
from memory.rules import errors

NONCE: Final = 12


class DoesNotOpen(errors.Conflict):
    """The value was changed, or sealed with a key that is no longer here."""

    code, title = "does_not_open", gettext_noop("It does not open")
    sentence = gettext_noop(
        "This was sealed with another key of the installation, or changed: it cannot be"
        " read any more."
    )


def _cipher(name: str) -> AESGCM:
    return AESGCM(encrypted_file.key_for(journal.key(), name))


def seal(name: str, values: Mapping[str, Any]) -> bytes:
    """Return values encrypted for the row of this name."""
    nonce = secrets.token_bytes(NONCE)
    data = json.dumps(dict(values), ensure_ascii=False).encode()
    return nonce + _cipher(name).encrypt(nonce, data, name.encode())


def unseal(name: str, data: bytes | memoryview) -> dict[str, Any]:
    """Return what was sealed for the row of this name, or raise DoesNotOpen."""
    raw = bytes(data)
    try:
        text = _cipher(name).decrypt(raw[:NONCE], raw[NONCE:], name.encode())
    except (InvalidTag, ValueError):
        raise DoesNotOpen from None
    return dict(json.loads(text))

"""The hash chain of the journal, as functions of bytes.

``commitment = SHA-256(salt ‖ canonical content)`` and
``entry_hash = HMAC-SHA-256(key, previous hash ‖ commitment)``. Erasing an entry
destroys its content *and* its salt and leaves the commitment: the chain still
verifies, and the content cannot be guessed by hashing candidates.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from typing import Final

SALT_BYTES: Final = 16
_HASH: Final = 32
HASH_CHARS: Final = 2 * _HASH
_HEAD: Final = b"crewship journal head v1"
_CHECKPOINT: Final = b"crewship journal checkpoint v1"
_DIGEST: Final = b"crewship journal digest v1"
_SEAL: Final = b"crewship journal seal v1"
_ADOPTION: Final = b"crewship journal adopted v1"
_SEGMENT: Final = b"crewship journal segment v1"


def frame(fields: Iterable[str | None]) -> bytes:
    """Return the canonical bytes of a list of fields.

    Each field is its UTF-8 length as eight big-endian bytes, then its bytes; None and
    the empty string are the same, so that a NULL survives every database.
    """
    parts: list[bytes] = []
    for value in fields:
        data = (value or "").encode()
        parts.append(len(data).to_bytes(8, "big"))
        parts.append(data)
    return b"".join(parts)


def commitment(salt: bytes, content: bytes) -> str:
    """Return the hex commitment to an entry's content."""
    return hashlib.sha256(salt + content).hexdigest()


def link(key: bytes, prev_hash: str, committed: str) -> str:
    """Return the hex hash that chains one commitment to the entry before it."""
    message = bytes.fromhex(prev_hash) + bytes.fromhex(committed)
    return hmac.digest(key, message, "sha256").hex()


def is_unbroken(key: bytes, prev_hash: str, hashes: str, count: int) -> bool:
    """Whether consecutive entries follow a hash and each other with correct hashes.

    ``hashes`` is, for each, the hash before it, its commitment and its own hash, in hex
    and without separators. Only lower-case hex is a hash.
    """
    try:
        prev, data = bytes.fromhex(prev_hash), bytes.fromhex(hashes)
    except ValueError:
        return False
    if data.hex() != hashes or len(data) != count * 3 * _HASH:
        return False
    for at in range(0, len(data), 3 * _HASH):
        middle = at + 2 * _HASH
        message, entry_hash = data[at:middle], data[middle : middle + _HASH]
        is_linked = hmac.digest(key, message, "sha256") == entry_hash
        if not is_linked or not message.startswith(prev):
            return False
        prev = entry_hash
    return True


def head_mac(key: bytes, workspace_id: str, seq: int, entry_hash: str) -> str:
    """Return the signature of the chain's end."""
    message = frame([workspace_id, str(seq), entry_hash])
    return hmac.new(key, _HEAD + message, hashlib.sha256).hexdigest()


def checkpoint_mac(
    key: bytes, workspace_id: str, entries: Sequence[tuple[int, str]]
) -> str:
    """Return the signature of a set of removed (seq, hash) pairs, sorted by seq."""
    pairs = [f"{seq}:{digest}" for seq, digest in sorted(entries)]
    message = frame([workspace_id, str(len(pairs)), *pairs])
    return hmac.new(key, _CHECKPOINT + message, hashlib.sha256).hexdigest()


def seal(key: bytes, entry_hash: str, kind: str, content: bytes) -> str:
    """Return the signature of an erased or redacted entry; ``kind`` says which."""
    message = frame([entry_hash, kind]) + content
    return hmac.new(key, _SEAL + message, hashlib.sha256).hexdigest()


def adopted_seal(key: bytes, prev_hash: str, commitment: str, entry_hash: str) -> str:
    """Return the signature of an entry that was chained with a key that is lost."""
    message = frame([prev_hash, commitment, entry_hash])
    return hmac.new(key, _ADOPTION + message, hashlib.sha256).hexdigest()


def segment_mac(key: bytes, workspace_id: str, last_seq: int, last_hash: str) -> str:
    """Return the signature of the place from which a chain has another key."""
    message = frame([workspace_id, str(last_seq), last_hash])
    return hmac.new(key, _SEGMENT + message, hashlib.sha256).hexdigest()


def keyed_digest(key: bytes, text: str) -> str:
    """Return a digest that only this installation can recompute."""
    return hmac.new(key, _DIGEST + text.encode(), hashlib.sha256).hexdigest()

"""Files encrypted with a key of this installation: AES-256-GCM in pieces (STREAM).

A file is a magic word, a random seven-byte prefix, then pieces of 64 KiB, each sealed
with the nonce ``prefix ‖ piece number (4 bytes) ‖ last (1 byte)``: a piece that is
changed, moved, missing or cut off at the end does not open. After Hoang, Reyhanitabar,
Rogaway and Vizár, "Online Authenticated-Encryption and its Nonce-Reuse
Misuse-Resistance" (2015).
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

MAGIC: Final = b"CMX1"
PIECE: Final = 64 * 1024
PREFIX: Final = 7
TAG: Final = 16
KEY_BYTES: Final = 32


class Broken(Exception):
    """The file was changed, or encrypted with another key."""


def key_for(master: bytes, name: str) -> bytes:
    """Return the key of one file, derived from the installation's key and its name."""
    derivation = HKDF(SHA256(), KEY_BYTES, None, b"crewship export v1 " + name.encode())
    return derivation.derive(master)


def _nonce(prefix: bytes, number: int, *, last: bool) -> bytes:
    return prefix + number.to_bytes(4, "big") + bytes([last])


class Sealer:
    """A write-only file object that encrypts what is written; ``close`` finishes it.

    ``sha256`` and ``size`` are those of what was written, not of the file.
    """

    def __init__(self, target: BinaryIO, key: bytes) -> None:
        self._target, self._cipher = target, AESGCM(key)
        self._prefix = secrets.token_bytes(PREFIX)
        self._buffer = bytearray()
        self.sha256, self.size = hashlib.sha256(), 0
        self._number = 0
        self._closed = False
        target.write(MAGIC + self._prefix)

    def write(self, data: bytes) -> int:
        """Encrypt whole pieces and buffer the rest."""
        self.sha256.update(data)
        self.size += len(data)
        self._buffer += data
        # The last piece is marked, so a full piece stays buffered until more follows.
        while len(self._buffer) > PIECE:
            self._seal(bytes(self._buffer[:PIECE]), last=False)
            del self._buffer[:PIECE]
        return len(data)

    def _seal(self, data: bytes, *, last: bool) -> None:
        nonce = _nonce(self._prefix, self._number, last=last)
        self._target.write(self._cipher.encrypt(nonce, data, None))
        self._number += 1

    def flush(self) -> None:
        """Do nothing: a piece is encrypted when it is full or when the file ends."""

    def close(self) -> None:
        """Encrypt the last piece; a file without one cannot be decrypted."""
        if not self._closed:
            self._closed = True
            self._seal(bytes(self._buffer), last=True)
            self._buffer.clear()


@contextmanager
def sealed_into(target: BinaryIO, key: bytes) -> Iterator[Sealer]:
    """Yield a sealer; after the block the whole file is in the target."""
    sealer = Sealer(target, key)
    yield sealer
    sealer.close()


@contextmanager
def sealed(path: Path, key: bytes) -> Iterator[Sealer]:
    """Yield a sealer; after the block its file is in place, synced."""
    with replaced(path) as file, sealed_into(file, key) as sealer:
        yield sealer


@contextmanager
def replaced(path: Path) -> Iterator[BinaryIO]:
    """Yield a file to write; after the block it is in place, synced.

    Until then there is only ``<name>.<random>.part``; a fault deletes it, a killed
    process leaves it.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_suffix(f".{secrets.token_hex(4)}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(part, flags, 0o600), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        sync(path.parent)
    finally:
        part.unlink(missing_ok=True)


def sync(folder: Path) -> None:
    """Have the disk keep which files a folder has."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def decrypted_pieces(source: BinaryIO, key: bytes) -> Iterator[bytes]:
    """Return the decrypted pieces of a file; raise Broken when it was altered."""
    head = source.read(len(MAGIC) + PREFIX)
    if len(head) != len(MAGIC) + PREFIX or not head.startswith(MAGIC):
        raise Broken("This is no sealed file.")
    cipher, prefix, number = AESGCM(key), head[len(MAGIC) :], 0
    piece = source.read(PIECE + TAG)
    while piece:
        following = source.read(PIECE + TAG)
        nonce = _nonce(prefix, number, last=not following)
        try:
            yield cipher.decrypt(nonce, piece, None)
        except InvalidTag:
            raise Broken("The file was changed, cut off or sealed elsewhere.") from None
        piece, number = following, number + 1
    if number == 0:
        raise Broken("The file ends before it begins.")

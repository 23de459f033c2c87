"""The encryption of a backup file.

A file is a magic word, a random salt, a value that tells whether a key is the right
one, then the pieces of ``gdpr.encrypted_file`` (AES-256-GCM, numbered, the last one
marked). The key is derived by scrypt, so that a pass phrase may be given as well.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, cast

from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from gdpr import encrypted_file
from gdpr.encrypted_file import Broken, Sealer
from memory.rules import errors

MAGIC: Final = b"CRWBKP1\n"
SALT: Final = 16
CHECK: Final = 16
KEY_LEAST: Final = 16
# 64 MiB and a fifth of a second.
SCRYPT_COST: Final = 2**16
_CHECK_TEXT: Final = b"crewship backup v1 key check"


class BadKey(errors.Invalid):
    """There is no key, or it is not the one."""

    code = "backup_key"
    sentence = "{reason}"


class BadBackup(errors.Invalid):
    """The file is no intact backup."""

    code = "backup_damaged"
    sentence = "{reason}"


def key_from(file: Path | None, setting: str) -> bytes:
    """Return the key of a file, else of the setting; raise BadKey."""
    try:
        text = file.read_bytes().strip() if file else setting.strip().encode()
    except OSError as error:
        raise BadKey(reason=f"The key file cannot be read: {error.strerror}.") from None
    if not text:
        raise BadKey(
            reason="A backup needs a key: --key-file FILE, or CREWSHIP_BACKUP_KEY."
        )
    if len(text) < KEY_LEAST:
        raise BadKey(
            reason=f"The key is too short: {KEY_LEAST} characters at least, such as"
            " those that `openssl rand -base64 48` prints."
        )
    return text


def _derived(secret: bytes, salt: bytes) -> tuple[bytes, bytes]:
    """Return the key of a file and its check value."""
    material = Scrypt(salt, 64, SCRYPT_COST, 8, 1).derive(secret)
    check = hmac.digest(material[32:], _CHECK_TEXT, "sha256")[:CHECK]
    return material[:32], check


class _Digested:
    """A target that computes size and SHA-256 of what is written to it."""

    def __init__(self, target: BinaryIO) -> None:
        self._target, self.sha256, self.size = target, hashlib.sha256(), 0

    def write(self, data: bytes) -> int:
        self.sha256.update(data)
        self.size += len(data)
        return self._target.write(data)


class Output:
    """A backup that is being written; ``sha256`` and ``size`` are its file's."""

    def __init__(self, target: BinaryIO, secret: bytes) -> None:
        self._digested = _Digested(target)
        salt = secrets.token_bytes(SALT)
        key, check = _derived(secret, salt)
        self._digested.write(MAGIC + salt + check)
        self._sealer = Sealer(cast("BinaryIO", self._digested), key)
        self.write = self._sealer.write

    def close(self) -> None:
        self._sealer.close()

    @property
    def size(self) -> int:
        return self._digested.size

    @property
    def sha256(self) -> str:
        return self._digested.sha256.hexdigest()


@contextmanager
def output(target: Path | BinaryIO, secret: bytes) -> Iterator[Output]:
    """Yield the output to a file, which is there after the block and not before.

    A stream gets the last piece at the end of the block: cut off, it does not open.
    """
    if isinstance(target, Path):
        with encrypted_file.replaced(target) as file:
            stream = Output(file, secret)
            yield stream
            stream.close()
    else:
        stream = Output(target, secret)
        yield stream
        stream.close()
        target.flush()


class Input:
    """A backup that is being read; every byte of it was authenticated."""

    def __init__(self, source: BinaryIO, secret: bytes) -> None:
        head = source.read(len(MAGIC) + SALT + CHECK)
        if len(head) != len(MAGIC) + SALT + CHECK or not head.startswith(MAGIC):
            raise BadBackup(reason="This is no backup of Crewship Memory.")
        salt, check = head[len(MAGIC) : -CHECK], head[-CHECK:]
        key, expected = _derived(secret, salt)
        if not hmac.compare_digest(check, expected):
            raise BadKey(reason="The key does not open this backup.")
        self._pieces = encrypted_file.decrypted_pieces(source, key)
        self._buffer = bytearray()

    def _fill(self, size: int) -> None:
        try:
            while len(self._buffer) < size:
                self._buffer += next(self._pieces)
        except StopIteration:
            return
        except Broken:
            raise BadBackup(
                reason="The backup was changed or cut off: a part of it does not open."
            ) from None

    def take(self, size: int) -> bytes:
        """Return the next bytes; raise BadBackup when the file ends before."""
        self._fill(size)
        if len(self._buffer) < size:
            raise BadBackup(reason="The backup ends in the middle.")
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def is_at_end(self) -> bool:
        """Whether nothing follows."""
        self._fill(1)
        return not self._buffer

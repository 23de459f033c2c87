"""The frames of a backup: a JSON object and bytes, each bounded before it is read."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from crewship_memory.backup.envelope import BadBackup, Input

# Kind, size of the compressed object, size of the bytes, whether those are compressed.
_HEAD: Final = struct.Struct(">BII?")
# A row is at most an entry of 1 MiB, a frame of rows a few of them.
MAX_OBJECT: Final = 64 * 1024 * 1024
MAX_BYTES: Final = 32 * 1024 * 1024
LEVEL: Final = 1


class Kind(IntEnum):
    """What a frame has; a backup has them in this order."""

    HEADER = 1
    KEYS = 2
    SAMPLES = 3
    ROWS = 4
    BODY = 5
    ERASURES = 6
    END = 9


@dataclass(frozen=True, slots=True)
class Frame:
    """One piece of the stream."""

    kind: Kind
    content: dict[str, Any]
    data: bytes = b""


class Writer:
    """Writes frames and keeps a digest over all of them."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write, self.digest = write, hashlib.sha256()

    def put(
        self,
        kind: Kind,
        content: dict[str, Any],
        data: bytes = b"",
        *,
        pack: bool = False,
    ) -> None:
        """Write a frame; ``pack`` compresses its bytes where that makes them fewer."""
        packed_object = zlib.compress(json.dumps(content).encode(), LEVEL)
        packed_data = zlib.compress(data, LEVEL) if pack else data
        is_packed = len(packed_data) < len(data)
        payload = packed_data if is_packed else data
        head = _HEAD.pack(kind, len(packed_object), len(payload), is_packed)
        for part in (head, packed_object, payload):
            self.digest.update(part)
            self._write(part)


def _unpacked(data: bytes, limit: int) -> bytes:
    """Return decompressed bytes, at most so many: a bomb is refused, not unpacked."""
    packed = zlib.decompressobj()
    try:
        plain = packed.decompress(data, limit)
    except zlib.error:
        raise BadBackup(reason="A frame of the backup cannot be unpacked.") from None
    if packed.unconsumed_tail or not packed.eof:
        raise BadBackup(reason="A frame of the backup is larger than any can be.")
    return plain


class Reader:
    """Reads frames up to the last one, which repeats the digest over the others."""

    def __init__(self, source: Input) -> None:
        self._source, self._digest = source, hashlib.sha256()

    def __iter__(self) -> Iterator[Frame]:
        frame, before = self._next(), self._digest.hexdigest()
        while frame.kind != Kind.END:
            yield frame
            before = self._digest.hexdigest()
            frame = self._next()
        if frame.content.get("sha256") != before or not self._source.is_at_end():
            raise BadBackup(reason="The end of the backup does not fit what it holds.")
        yield frame

    def _next(self) -> Frame:
        head = self._source.take(_HEAD.size)
        number, object_size, data_size, is_packed = _HEAD.unpack(head)
        if object_size > MAX_OBJECT or data_size > MAX_BYTES:
            raise BadBackup(reason="A frame of the backup is larger than any can be.")
        packed_object = self._source.take(object_size)
        payload = self._source.take(data_size)
        for part in (head, packed_object, payload):
            self._digest.update(part)
        try:
            kind = Kind(number)
            content = json.loads(_unpacked(packed_object, MAX_OBJECT))
        except (ValueError, RecursionError):
            raise BadBackup(reason="A frame of the backup is not readable.") from None
        if not isinstance(content, dict):
            raise BadBackup(reason="A frame of the backup is not readable.")
        data = _unpacked(payload, MAX_BYTES) if is_packed else payload
        return Frame(kind, content, data)

"""Compressed and packed files: opened for the search of bytes, within limits.

Only formats of the standard library are opened. What cannot be opened, because it is
encrypted, of another format or swells beyond the limits, is counted by its kind.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Final, cast

PIECE: Final = 1024 * 1024
# Bytes that one file may unpack to, members and files inside it together.
MAX_BYTES: Final = 512 * 1024 * 1024
MAX_MEMBERS: Final = 20_000
MAX_DEPTH: Final = 3
# A file inside another is read into memory if it is packed as well.
MAX_INNER: Final = 64 * 1024 * 1024
HEAD: Final = 512
_TAR_MARK: Final = (257, b"ustar")
_OPENED: Final = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
}
# Beginnings of formats that pack text and that are not opened here.
_CLOSED: Final = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!\x1a\x07": "rar",
    b"%PDF-": "pdf",
    b"\x1f\x9d": "compress",
    b"age-encryption.org": "age",
    b"Salted__": "openssl",
}


class NotOpened(Exception):
    """A file, or something in it, was not read; its argument is the kind."""


def kind(head: bytes) -> str:
    """Return the format of a packed file by its beginning; empty for any other."""
    for mark, name in (*_OPENED.items(), *_CLOSED.items()):
        if head.startswith(mark):
            return name
    start, mark = _TAR_MARK
    return "tar" if head[start : start + len(mark)] == mark else ""


class _Budget:
    """How much may still be unpacked."""

    def __init__(self) -> None:
        self.bytes, self.members = MAX_BYTES, MAX_MEMBERS

    def take(self, size: int) -> None:
        self.bytes -= size
        if self.bytes < 0:
            raise NotOpened("too large")

    def member(self) -> None:
        self.members -= 1
        if self.members < 0:
            raise NotOpened("too many members")


def contents(file: IO[bytes], overlap: int = 0) -> Iterator[bytes]:
    """Yield what is in a packed file, in overlapping pieces, names of members too.

    Raises NotOpened when it, or a part of it, cannot be read: what was yielded counts.
    """
    yield from _inside(file, overlap, _Budget(), 0)


def _inside(
    file: IO[bytes], overlap: int, budget: _Budget, depth: int
) -> Iterator[bytes]:
    name = kind(file.read(HEAD))
    file.seek(0)
    if depth == MAX_DEPTH:
        raise NotOpened("too deep")
    opener = _OPENERS.get(name)
    if opener is None:
        raise NotOpened(name)
    try:
        for stream in opener(file, budget):
            yield from _stream(stream, overlap, budget, depth)
    except (OSError, EOFError, RuntimeError, ValueError, NotImplementedError) as error:
        raise NotOpened(name) from error
    except (zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError) as error:
        raise NotOpened(name) from error


def _stream(
    stream: IO[bytes], overlap: int, budget: _Budget, depth: int
) -> Iterator[bytes]:
    """Yield a stream in pieces; a packed file inside is opened as well."""
    first = stream.read(PIECE)
    if kind(first[:HEAD]):
        inner = io.BytesIO(first + stream.read(MAX_INNER))
        if inner.getbuffer().nbytes > MAX_INNER:
            raise NotOpened("too large")
        budget.take(inner.getbuffer().nbytes)
        yield from _inside(inner, overlap, budget, depth + 1)
        return
    tail, data = b"", first
    while data:
        budget.take(len(data))
        yield tail + data
        tail = data[-overlap:] if overlap else b""
        data = stream.read(PIECE)


# ── Formats ──────────────────────────────────────────────────────────────────
Streams = Iterator[IO[bytes]]


def _gzip(file: IO[bytes], _: _Budget) -> Streams:
    with gzip.open(file) as stream:
        yield cast("IO[bytes]", stream)


def _bzip2(file: IO[bytes], _: _Budget) -> Streams:
    with bz2.open(file) as stream:
        yield stream


def _xz(file: IO[bytes], _: _Budget) -> Streams:
    with lzma.open(file) as stream:
        yield stream


def _zip(file: IO[bytes], budget: _Budget) -> Streams:
    with zipfile.ZipFile(file) as archive:
        yield io.BytesIO(archive.comment)
        for info in archive.infolist():
            budget.member()
            yield io.BytesIO(info.filename.encode("utf-8", "surrogateescape"))
            with archive.open(info) as member:
                yield member


def _tar(file: IO[bytes], budget: _Budget) -> Streams:
    with tarfile.open(fileobj=file, mode="r:") as archive:
        for info in archive:
            budget.member()
            yield io.BytesIO(info.name.encode("utf-8", "surrogateescape"))
            member = archive.extractfile(info) if info.isreg() else None
            if member is not None:
                yield member


_OPENERS: Final[dict[str, Callable[[IO[bytes], _Budget], Streams]]] = {
    "gzip": _gzip,
    "bzip2": _bzip2,
    "xz": _xz,
    "zip": _zip,
    "tar": _tar,
}

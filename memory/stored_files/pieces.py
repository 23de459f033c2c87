"""Files too large for one row: kept in pieces, each a file of the tree."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO, Final, cast

from django.db import transaction

from memory.stored_files.database import DatabaseStore

PIECE: Final = 1024 * 1024


def put(store: DatabaseStore, parts: Sequence[str], source: BinaryIO) -> None:
    """Write a file from its source, all pieces at once, in place of an earlier one."""
    with transaction.atomic():
        store.remove_below(parts)
        # A file without bytes has one empty piece: it is there.
        number, data = 0, source.read(PIECE)
        while data or number == 0:
            store.write((*parts, f"{number:08}"), data)
            number, data = number + 1, source.read(PIECE)


class _Pieces(io.RawIOBase):
    """The bytes of all pieces one after the other; a piece is read when it is due."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        target = memoryview(buffer)
        if not self._rest:
            self._rest = next(self._pieces, b"")
        count = min(len(self._rest), len(target))
        target[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


def opened(store: DatabaseStore, parts: Sequence[str]) -> BinaryIO:
    """Return a file for reading; raise FileNotFoundError.

    Reading it raises that too, where the file is deleted meanwhile.
    """
    names = list(store.walk(parts))
    if not names:
        raise FileNotFoundError
    return cast("BinaryIO", io.BufferedReader(_Pieces(_read(store, names))))


def _read(store: DatabaseStore, names: Iterable[tuple[str, ...]]) -> Iterator[bytes]:
    for name in names:
        piece = store.read(name)
        if piece is None:
            raise FileNotFoundError
        yield piece.data

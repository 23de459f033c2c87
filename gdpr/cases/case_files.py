"""The sealed files of a case: on the disk, or in the database.

Their content is encrypted by whoever writes it. ``names`` is written once and whole;
to ``words`` records are added, each readable by itself.
"""

from __future__ import annotations

import abc
import io
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

from django.conf import settings

from gdpr import encrypted_file
from gdpr.models import Case
from memory.installation import bodies
from memory.stored_files import pieces, trees

FOLDER: Final = "erasures"
NAMES: Final = "names"
WORDS: Final = "words"
UNLIMITED: Final = 1 << 62
_LENGTH: Final = 4
# A record's length in its file does not count the nonce that it begins with.
_NONCE: Final = 12


class CaseFiles(Protocol):
    """The files of one case."""

    def names(self) -> bytes | None:
        """Return the file of names, None when there is none."""

    def put_names(self, content: bytes, key: bytes) -> None:
        """Encrypt and write the file of names, durably."""

    def records(self) -> Iterator[bytes]:
        """Yield the whole records of the file of words; a torn one is left out."""

    def add_record(self, record: bytes, limit: int) -> None:
        """Add a record, unless the file has more than ``limit`` bytes."""

    def drop_torn_record(self) -> None:
        """Remove a record torn by a crash: nothing behind it could be read."""

    def remove(self, *endings: str) -> None:
        """Delete files durably, also those that a killed runner deleted."""

    def put_sealed_names(self, data: bytes) -> None:
        """Write a file of names that is encrypted already."""

    def exists(self) -> bool:
        """Whether there is a file of the case."""

    def content(self) -> tuple[bytes | None, list[bytes]]:
        """Return the file of names and the records of the file of words, sorted."""


def of(case: Case) -> CaseFiles:
    return at(case, bodies.DATABASE if bodies.in_database() else bodies.FOLDER)


def at(case: Case, place: str) -> CaseFiles:
    """Return the files of a case in the data folder, or in the database."""
    return _Rows(case) if place == bodies.DATABASE else _Folder(case)


def path_of(case: Case, ending: str) -> Path:
    """Return the path of a file in the data folder, which may not exist."""
    return Path(settings.DATA_DIR) / FOLDER / f"{case.id}.{ending}"


def cases_in_database() -> list[Case]:
    """Return the cases that have files in the database, by their ids alone."""
    tree = trees.database(trees.CASE_FILES)
    homes = sorted({parts[:2] for parts in tree.walk()})
    return [Case(pk=case_id, workspace_id=home) for home, case_id in homes]


def as_files(case: Case) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of a case's files as they stand in a data folder."""
    names, records = of(case).content()
    if names is not None:
        yield path_of(case, NAMES).name, names
    if records:
        yield path_of(case, WORDS).name, b"".join(map(_framed, records))


def _framed(record: bytes) -> bytes:
    return (len(record) - _NONCE).to_bytes(_LENGTH, "big") + record


class _Files(abc.ABC):
    """What is the same at both places."""

    @abc.abstractmethod
    def names(self) -> bytes | None: ...

    @abc.abstractmethod
    def records(self) -> Iterator[bytes]: ...

    def content(self) -> tuple[bytes | None, list[bytes]]:
        return self.names(), sorted(self.records())

    def exists(self) -> bool:
        return self.content() != (None, [])


# ── In the data folder ───────────────────────────────────────────────────────
class _Folder(_Files):
    def __init__(self, case: Case) -> None:
        self._case = case

    def names(self) -> bytes | None:
        try:
            return path_of(self._case, NAMES).read_bytes()
        except FileNotFoundError:
            return None

    def put_names(self, content: bytes, key: bytes) -> None:
        with encrypted_file.sealed(path_of(self._case, NAMES), key) as sealer:
            sealer.write(content)

    def put_sealed_names(self, data: bytes) -> None:
        with encrypted_file.replaced(path_of(self._case, NAMES)) as file:
            file.write(data)

    def records(self) -> Iterator[bytes]:
        try:
            yield from _complete_records(path_of(self._case, WORDS).read_bytes())
        except FileNotFoundError:
            return

    def add_record(self, record: bytes, limit: int) -> None:
        """Add a record; a killed process loses none, a power cut may lose the last."""
        path = path_of(self._case, WORDS)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        handle = os.open(path, flags, 0o600)
        with os.fdopen(handle, "ab") as file:
            if os.fstat(file.fileno()).st_size <= limit:
                file.write(_framed(record))

    def drop_torn_record(self) -> None:
        path = path_of(self._case, WORDS)
        if not path.exists():
            return
        data = path.read_bytes()
        length = sum(_LENGTH + len(record) for record in _complete_records(data))
        if length < len(data):
            os.truncate(path, length)

    def remove(self, *endings: str) -> None:
        folder = path_of(self._case, NAMES).parent
        parts = folder.glob(f"{self._case.id}.*.part")
        for path in (*(path_of(self._case, ending) for ending in endings), *parts):
            path.unlink(missing_ok=True)
        if folder.is_dir():
            encrypted_file.sync(folder)


def _complete_records(data: bytes) -> Iterator[bytes]:
    at = 0
    while at + _LENGTH <= len(data):
        length = int.from_bytes(data[at : at + _LENGTH], "big")
        end = at + _LENGTH + _NONCE + length
        if end > len(data):
            return
        yield data[at + _LENGTH : end]
        at = end


# ── In the database ──────────────────────────────────────────────────────────
class _Rows(_Files):
    def __init__(self, case: Case) -> None:
        self._tree = trees.database(trees.CASE_FILES)
        self._parts = (case.workspace_id, case.id)

    def names(self) -> bytes | None:
        try:
            with pieces.opened(self._tree, (*self._parts, NAMES)) as file:
                return file.read()
        except FileNotFoundError:
            return None

    def put_names(self, content: bytes, key: bytes) -> None:
        target = io.BytesIO()
        with encrypted_file.sealed_into(target, key) as sealer:
            sealer.write(content)
        self.put_sealed_names(target.getvalue())

    def put_sealed_names(self, data: bytes) -> None:
        pieces.put(self._tree, (*self._parts, NAMES), io.BytesIO(data))

    def records(self) -> Iterator[bytes]:
        for file in self._tree.raw((*self._parts, WORDS)):
            yield file.read()

    def add_record(self, record: bytes, limit: int) -> None:
        words = (*self._parts, WORDS)
        if self._tree.bytes_below(words) <= limit:
            self._tree.write((*words, secrets.token_hex(16)), record)

    def drop_torn_record(self) -> None:
        """Do nothing: a row is there as a whole."""

    def remove(self, *endings: str) -> None:
        for ending in endings:
            self._tree.remove_below((*self._parts, ending))

"""The records of erasures: what a backup has of them, and how they are joined.

Of two lists of one workspace everything counts that either has: a record is never lost,
and an older list never replaces a newer. Where machines share no disk the table and
each machine's file are lists as well. Every line is signed with the journal key.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.conf import settings

from crewship_memory.backup.envelope import BadBackup
from gdpr import encrypted_file
from gdpr.cases import case_files
from gdpr.erasure import shared_tombstones, tombstones
from memory.installation import bodies
from memory.rules import errors

CHUNK: Final = 1024 * 1024
# Where the records of a backup are until the key that signs them is there.
OF_BACKUP: Final = "of-backup"
_RECORDS: Final = re.compile(r"[A-Za-z0-9_]{1,64}\.jsonl")
# Sealed search terms of runs that have not ended.
_SEALED: Final = re.compile(r"[A-Za-z0-9_]{1,64}\.[A-Za-z0-9_.-]{1,64}")
_PASSING: Final = (".lock", ".part", ".unfinished")


class RecordsDamaged(errors.Conflict):
    """The records of erasures are not right, and a backup would not be either."""

    code = "erasures_damaged"
    sentence = "{reason} Bring the file back before a backup is made."


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a file."""

    name: str
    data: bytes
    is_last: bool


def _folder() -> Path:
    return Path(settings.DATA_DIR) / tombstones.FOLDER


def _is_known(name: str) -> bool:
    is_passing = name.endswith(_PASSING)
    return bool(_SEALED.fullmatch(name)) and ".." not in name and not is_passing


# ── Reading ──────────────────────────────────────────────────────────────────
def pieces() -> Iterator[Piece]:
    """Yield the files of this installation; records up to their last complete line.

    Raises RecordsDamaged where this machine's file and the table cannot be joined.
    """
    _mirror()
    for name, data in (*_files(), *_files_in_database()):
        for start in range(0, max(len(data), 1), CHUNK):
            yield Piece(name, data[start : start + CHUNK], start + CHUNK >= len(data))


def _mirror() -> None:
    """Have this machine's files know what the table does."""
    if not bodies.in_database():
        return
    for workspace_id in shared_tombstones.signatures():
        try:
            shared_tombstones.mirror_one(workspace_id)
        except tombstones.Damaged as error:
            raise RecordsDamaged(reason=str(error)) from None


def _files() -> Iterator[tuple[str, bytes]]:
    paths = sorted(_folder().iterdir()) if _folder().is_dir() else []
    for path in paths:
        if _is_known(path.name) and path.is_file() and not path.is_symlink():
            data = path.read_bytes()
            is_list = _RECORDS.fullmatch(path.name)
            yield path.name, _complete(data) if is_list else data


def _files_in_database() -> Iterator[tuple[str, bytes]]:
    if bodies.in_database():
        for case in case_files.cases_in_database():
            yield from case_files.as_files(case)


def _complete(data: bytes) -> bytes:
    return data[: data.rfind(b"\n") + 1]


# ── Writing ──────────────────────────────────────────────────────────────────
class Target:
    """Takes the files of a backup piece by piece."""

    def __init__(self) -> None:
        self._name, self._data = "", bytearray()

    def add(self, piece: Piece) -> None:
        if not _is_known(piece.name) or self._name not in ("", piece.name):
            raise BadBackup(reason="The backup has an erasures file that is none.")
        self._name = piece.name
        self._data += piece.data
        if piece.is_last:
            _put(piece.name, bytes(self._data))
            self._name, self._data = "", bytearray()


def _put(name: str, data: bytes) -> None:
    is_list = _RECORDS.fullmatch(name)
    path = _folder() / OF_BACKUP / name if is_list else _folder() / name
    if is_list or not path.exists():
        _write(path, data)


def _write(path: Path, data: bytes) -> None:
    with encrypted_file.replaced(path) as file:
        file.write(data)


def clear() -> None:
    """Delete the lists that a restore wrote, and that are joined or not needed."""
    shutil.rmtree(_folder() / OF_BACKUP, ignore_errors=True)


# ── Joining ──────────────────────────────────────────────────────────────────
def add_those_of_backup() -> None:
    """Add the records of the backup that is restored; raise Damaged."""
    _add(_folder() / OF_BACKUP)
    clear()


def add_folder(folder: Path) -> int:
    """Add the records of a machine's folder; return how many are new.

    Raises Damaged where a line is not signed with the journal key.
    """
    return _add(folder)


def _add(folder: Path) -> int:
    count, fault = 0, None
    for path in sorted(folder.glob("*.jsonl")):
        if not _is_known(path.name):
            continue
        data = _complete(path.read_bytes())
        lines = data.decode("utf-8", "replace").splitlines()
        try:
            count += shared_tombstones.merge({path.stem: lines})
        except tombstones.Damaged as error:
            fault = fault or error
            # The workspace is not served with it: nobody can tell who was erased.
            if not (_folder() / path.name).exists():
                _write(_folder() / path.name, data)
                shared_tombstones.forget()
    if fault is not None:
        raise fault
    return count


def check_folder(folder: Path) -> None:
    """Refuse a folder that is none, before anything is restored."""
    if not folder.is_dir():
        raise errors.NotFound(f"There is no folder {folder}.")
    if not any(folder.glob("*.jsonl")):
        raise errors.NotFound(f"The folder {folder} has no erasures file.")


def newest() -> str:
    """Return when the last erasure on record was announced, "" for none."""
    moments = []
    for workspace_id in tombstones.workspaces():
        try:
            moments += [record.at for record in tombstones.read(workspace_id)]
        except tombstones.Damaged:
            continue
    return max(moments, default="")

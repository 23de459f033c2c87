"""The erasures files: what a backup has of them, and how files are brought together.

Each is a list that only ever grows. Of two, one has to begin with the other, and the
longer one counts: an older one never replaces a newer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.conf import settings

from crewship_memory.backup.envelope import BadBackup
from gdpr import encrypted_file
from gdpr.erasure import tombstones
from memory.rules import errors

CHUNK: Final = 1024 * 1024
_RECORDS: Final = re.compile(r"[A-Za-z0-9_]{1,64}\.jsonl")
# Sealed search terms of runs that have not ended.
_SEALED: Final = re.compile(r"[A-Za-z0-9_]{1,64}\.[A-Za-z0-9_.-]{1,64}")
_PASSING: Final = (".lock", ".part", ".unfinished")


class FilesDiffer(errors.Conflict):
    """Two erasures files of one workspace are no continuation of each other."""

    code = "erasures_differ"
    sentence = (
        "The erasures file {name} of the two places is not one list: bring the right"
        " one, and leave the other out."
    )


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


def pieces() -> Iterator[Piece]:
    """Yield the files of this installation; records up to their last complete line."""
    if not _folder().is_dir():
        return
    for path in sorted(_folder().iterdir()):
        if not _is_known(path.name) or path.is_symlink() or not path.is_file():
            continue
        data = path.read_bytes()
        if _RECORDS.fullmatch(path.name):
            data = _complete(data)
        for start in range(0, max(len(data), 1), CHUNK):
            chunk = data[start : start + CHUNK]
            yield Piece(path.name, chunk, start + CHUNK >= len(data))


def _complete(data: bytes) -> bytes:
    return data[: data.rfind(b"\n") + 1]


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
            _join(piece.name, bytes(self._data))
            self._name, self._data = "", bytearray()


def add_folder(folder: Path) -> int:
    """Take the files of another machine's folder; return how many records are new."""
    paths = [path for path in sorted(folder.glob("*.jsonl")) if _is_known(path.name)]
    return sum(_join(path.name, _complete(path.read_bytes())) for path in paths)


def check_folder(folder: Path) -> None:
    """Refuse a folder that is none, before anything is restored."""
    if not folder.is_dir():
        raise errors.NotFound(f"There is no folder {folder}.")
    if not any(folder.glob("*.jsonl")):
        raise errors.NotFound(f"The folder {folder} has no erasures file.")


def _join(name: str, data: bytes) -> int:
    """Keep the longer one of two; return how many records are new here."""
    path = _folder() / name
    try:
        present = path.read_bytes()
    except FileNotFoundError:
        present = b""
    if not _RECORDS.fullmatch(name):
        if not present:
            _write(path, data)
        return 0
    present = _complete(present)
    if not data.startswith(present) and not present.startswith(data):
        raise FilesDiffer(name=name)
    if len(data) <= len(present):
        return 0
    _write(path, data)
    return data.count(b"\n") - present.count(b"\n")


def _write(path: Path, data: bytes) -> None:
    with encrypted_file.replaced(path) as file:
        file.write(data)


def newest() -> str:
    """Return when the last erasure on record was announced, "" for none."""
    moments = []
    for workspace_id in tombstones.workspaces():
        try:
            moments += [record.at for record in tombstones.read(workspace_id)[-1:]]
        except tombstones.Damaged:
            continue
    return max(moments, default="")

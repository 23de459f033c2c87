"""The bodies of a backup: versions of memory files, and bundles of access requests.

They are read from where they are, the data folder or the database. A restore writes
them into the data folder, whatever its schema has by then; ``placement`` brings them to
where the settings say. Versions are content-addressed: those that the rows of the
snapshot refer to are taken, whatever was written since. The live files are not in a
backup: each is the newest version of its row, and written from it by a restore.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from django.conf import settings

from crewship_memory.backup.envelope import BadBackup
from crewship_memory.backup.snapshot import Snapshot
from gdpr import bundle_files, encrypted_file
from gdpr.models import Export
from memory.files import paths, versions
from memory.installation import bodies as body_settings
from memory.installation import folders, key_files
from memory.rules import errors
from memory.stored_files.folder import FileStore
from memory.stored_files.store import READ_LIMIT, Store

CHUNK: Final = 1024 * 1024
BLOBS: Final = "blobs"
EXPORTS: Final = "exports"
_ID: Final = r"[A-Za-z0-9_]{1,64}"
# What the path of a body looks like below its folder: nothing else is ever written.
_SHAPES: Final = {
    BLOBS: (re.compile(_ID), re.compile("[0-9a-f]{2}"), re.compile("[0-9a-f]{64}")),
    EXPORTS: (re.compile(_ID), re.compile(rf"{_ID}\.sealed")),
}
_LIVE: Final = "SELECT path FROM memory_files WHERE workspace_id = %s AND sha256 = %s"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a body: ``is_last`` ends it."""

    folder: str
    parts: tuple[str, ...]
    data: bytes
    is_last: bool


@dataclass(slots=True)
class Counts:
    """How many bodies there are, and how many of their rows have none."""

    bodies: int = 0
    bytes: int = 0
    missing: int = 0


# ── Reading ──────────────────────────────────────────────────────────────────
def expected(snapshot: Snapshot) -> int:
    """Return how many bodies the rows of a snapshot refer to."""
    return len(_blob_rows(snapshot)) + len(_export_rows(snapshot))


def _blob_rows(snapshot: Snapshot) -> list[tuple[str, str]]:
    rows = snapshot.select(
        "SELECT DISTINCT workspace_id, sha256 FROM memory_versions WHERE sha256 <> ''"
    )
    return [(str(workspace_id), str(sha256)) for workspace_id, sha256 in sorted(rows)]


def _export_rows(snapshot: Snapshot) -> list[tuple[str, str]]:
    rows = snapshot.select(
        "SELECT workspace_id, id FROM gdpr_exports WHERE state = %s", ["ready"]
    )
    return [(str(workspace_id), str(name)) for workspace_id, name in sorted(rows)]


def _blob(snapshot: Snapshot, workspace_id: str, sha256: str) -> bytes | None:
    """Return a version's bytes, those of the live file where the blob is damaged."""
    stores: list[tuple[Store, tuple[str, ...]]] = [
        (versions.blobs(), versions.blob_parts(workspace_id, sha256))
    ]
    for (path,) in snapshot.select(_LIVE, [workspace_id, sha256]):
        stores.append((paths.file_store(), tuple(str(path).split("/"))))
    for store, parts in stores:
        try:
            stored = store.read(parts)
        except errors.Unavailable:
            raise
        except errors.AppError:
            continue
        if stored is not None and stored.sha256 == sha256:
            return stored.data
    return None


def pieces(snapshot: Snapshot, counts: Counts) -> Iterator[Piece]:
    """Yield the bodies of a snapshot's rows; count those that are gone meanwhile."""
    for workspace_id, sha256 in _blob_rows(snapshot):
        data = _blob(snapshot, workspace_id, sha256)
        if data is None:
            counts.missing += 1
            continue
        counts.bodies, counts.bytes = counts.bodies + 1, counts.bytes + len(data)
        parts = versions.blob_parts(workspace_id, sha256)
        starts = range(0, max(len(data), 1), CHUNK)
        for start in starts:
            chunk = data[start : start + CHUNK]
            yield Piece(BLOBS, parts, chunk, start == starts[-1])
    for workspace_id, name in _export_rows(snapshot):
        yield from _export_pieces(Export(pk=name, workspace_id=workspace_id), counts)


def _export_pieces(export: Export, counts: Counts) -> Iterator[Piece]:
    parts = (export.workspace_id, f"{export.pk}.sealed")
    try:
        file = _opened(export)
    except (FileNotFoundError, PermissionError):
        counts.missing += 1
        return
    with file:
        counts.bodies += 1
        chunk = file.read(CHUNK)
        while True:
            following = file.read(CHUNK)
            counts.bytes += len(chunk)
            yield Piece(EXPORTS, parts, chunk, not following)
            if not following:
                return
            chunk = following


def _opened(export: Export) -> BinaryIO:
    """Return all of a bundle, as a file; raise FileNotFoundError.

    One in the database can be deleted between two of its pieces: it is read before
    anything of it is written. A file stays while it is open.
    """
    source = bundle_files.opened(export)
    if not body_settings.in_database():
        return source
    with source, ExitStack() as stack:
        spool = tempfile.SpooledTemporaryFile(bundle_files.SPOOL)  # noqa: SIM115
        target = cast("BinaryIO", stack.enter_context(spool))
        shutil.copyfileobj(source, target)
        target.seek(0)
        stack.pop_all()
        return target


# ── Writing ──────────────────────────────────────────────────────────────────
def _checked_path(folder: object, parts: object) -> tuple[str, tuple[str, ...]]:
    """Return the place of a body; raise BadBackup where it is none of ours."""
    shapes = _SHAPES.get(str(folder), ())
    is_shaped = (
        isinstance(parts, list)
        and bool(shapes)
        and len(parts) == len(shapes)
        and all(
            isinstance(part, str) and shape.fullmatch(part)
            for part, shape in zip(parts, shapes, strict=True)
        )
    )
    if not is_shaped or not isinstance(parts, list):
        raise BadBackup(reason="The backup names a body in a place that is none.")
    return str(folder), tuple(parts)


@dataclass(slots=True)
class Target:
    """Writes bodies piece by piece; each is in place once its last piece came."""

    store: FileStore
    counts: Counts = field(default_factory=Counts)
    _place: tuple[str, tuple[str, ...]] | None = None
    _blob: bytearray = field(default_factory=bytearray)

    def add(self, content: dict[str, Any], data: bytes) -> None:
        """Write a piece, named by its frame; raise BadBackup where it is none."""
        folder, parts = _checked_path(content.get("folder"), content.get("parts"))
        piece = Piece(folder, parts, data, content.get("last") is True)
        place, is_first = (piece.folder, piece.parts), self._place is None
        if not is_first and self._place != place:
            raise BadBackup(reason="A body of the backup has no end.")
        self._place = None if piece.is_last else place
        self.counts.bytes += len(piece.data)
        self.counts.bodies += piece.is_last
        if piece.folder == EXPORTS:
            _append(piece, is_first=is_first)
        else:
            self._add_blob(piece)

    def finish(self) -> None:
        """Raise BadBackup where the last body has no end."""
        if self._place is not None:
            raise BadBackup(reason="A body of the backup has no end.")

    def _add_blob(self, piece: Piece) -> None:
        self._blob += piece.data
        if len(self._blob) > READ_LIMIT:
            raise BadBackup(reason="A version of a memory file is larger than any is.")
        if piece.is_last:
            if hashlib.sha256(self._blob).hexdigest() != piece.parts[-1]:
                raise BadBackup(reason="A version has other bytes than its name says.")
            self.store.write(piece.parts, bytes(self._blob))
            self._blob.clear()


def _append(piece: Piece, *, is_first: bool) -> None:
    """Write a part of a bundle: they may be large, and go to the disk as they come."""
    path = Path(settings.DATA_DIR).joinpath(piece.folder, *piece.parts)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    with unfinished.open("wb" if is_first else "ab") as file:
        file.write(piece.data)
        file.flush()
        os.fsync(file.fileno())
    if piece.is_last:
        unfinished.replace(path)
        encrypted_file.sync(path.parent)


def target(installation_id: str) -> Target:
    """Return the data folder as a target, marked as an installation's."""
    root = Path(settings.DATA_DIR)
    folders.mark_folders(root, installation_id, folders.FOLDERS)
    return Target(FileStore(root / BLOBS, root / "locks", installation_id))


def clear() -> None:
    """Delete the bodies that a restore wrote into the data folder."""
    for folder in _SHAPES:
        for path in (Path(settings.DATA_DIR) / folder).glob("*"):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)


def remove_folders() -> None:
    """Delete the folders of bodies, which are in the database by now.

    Without the mark the rest counts as gone: nobody looks into it again.
    """
    root = Path(settings.DATA_DIR)
    (root / BLOBS / key_files.MARK).unlink(missing_ok=True)
    for name in (*_SHAPES, "files"):
        shutil.rmtree(root / name, ignore_errors=True)


def are_of(installation_id: str) -> bool:
    """Whether the data folder is the one that the bodies were loaded into."""
    root = Path(settings.DATA_DIR)
    return key_files.mark_of(root / BLOBS) == installation_id


def present() -> list[str]:
    """Return the folders of the data folder that hold bodies already."""
    root = Path(settings.DATA_DIR)
    return [
        name
        for name in (*_SHAPES, "files")
        if any(path.name != key_files.MARK for path in (root / name).glob("*"))
    ]

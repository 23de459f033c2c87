"""The encrypted bytes of bundles: a file each, or pieces in the database."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, cast

from django.conf import settings

from gdpr import encrypted_file
from gdpr.encrypted_file import Sealer
from gdpr.models import Export
from memory.installation import bodies
from memory.stored_files import pieces, trees
from memory.stored_files.database import DatabaseStore

# An encrypted bundle that is larger waits on this machine's disk to be stored.
SPOOL: Final = 8 * 1024 * 1024
PIECE: Final = 1024 * 1024


def folder() -> Path:
    return Path(settings.DATA_DIR) / "exports"


def path(export: Export) -> Path:
    """Return the path of a bundle's file, which may not exist."""
    return folder() / export.workspace_id / f"{export.id}.sealed"


def parts(export: Export) -> tuple[str, str]:
    """Return the path of a bundle in the database, below which its pieces are."""
    return export.workspace_id, export.id


def _rows() -> DatabaseStore:
    return trees.database(trees.EXPORTS)


def exists(export: Export) -> bool:
    """Whether there are bytes of a finished bundle."""
    if bodies.in_database():
        return _rows().has_folder(parts(export))
    return path(export).is_file()


def remains(export: Export) -> bool:
    """Whether there are bytes of a bundle, also half-written ones."""
    return exists(export) or bool(_parts_on_disk(export))


def opened(export: Export) -> BinaryIO:
    """Return a bundle's encrypted bytes as a file; raise FileNotFoundError."""
    if bodies.in_database():
        return pieces.opened(_rows(), parts(export))
    return path(export).open("rb")


def erase(export: Export) -> None:
    """Delete every byte of a bundle, also half-written ones."""
    if bodies.in_database():
        erase_at(export, bodies.DATABASE)
    erase_at(export, bodies.FOLDER)


def erase_at(export: Export, place: str) -> None:
    """Delete every byte of a bundle at one place."""
    if place == bodies.DATABASE:
        _rows().remove_below(parts(export))
        return
    for file in _parts_on_disk(export):
        file.unlink(missing_ok=True)


def write(path: Path, source: BinaryIO) -> None:
    """Write a bundle that is encrypted already, atomically and synced."""
    with encrypted_file.replaced(path) as target:
        shutil.copyfileobj(source, target)


def digest(file: BinaryIO) -> str:
    """Return the SHA-256 of a bundle's encrypted bytes."""
    state = hashlib.sha256()
    while data := file.read(PIECE):
        state.update(data)
    return state.hexdigest()


def _parts_on_disk(export: Export) -> list[Path]:
    return sorted(path(export).parent.glob(f"{export.id}.*"))


@contextmanager
def sealed(export: Export, key: bytes) -> Iterator[Sealer]:
    """Yield what encrypts a bundle; after the block all of it is stored, or nothing."""
    if not bodies.in_database():
        with encrypted_file.sealed(path(export), key) as sealer:
            yield sealer
        return
    with tempfile.SpooledTemporaryFile(SPOOL) as file:
        target = cast("BinaryIO", file)
        with encrypted_file.sealed_into(target, key) as sealer:
            yield sealer
        file.seek(0)
        pieces.put(_rows(), parts(export), target)

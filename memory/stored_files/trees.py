"""The trees of this installation, where its bodies are."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import connection

from memory.installation import bodies
from memory.installation import identity as installation
from memory.stored_files.advisory_locks import AdvisoryLocks
from memory.stored_files.database import DatabaseStore
from memory.stored_files.folder import FileStore
from memory.stored_files.lock_files import LockFiles
from memory.stored_files.store import Locks, Store

FILES: Final = "files"
BLOBS: Final = "blobs"
EXPORTS: Final = "exports"
CASE_FILES: Final = "case files"
# Trees whose paths begin with a workspace's slug; the others begin with its id.
_BY_SLUG: Final = frozenset({FILES})


def tree(name: str) -> Store:
    """Return a tree where the bodies are; raise NotReady where they are elsewhere."""
    installation.require_bodies()
    return database(name) if bodies.in_database() else folder(name)


def folder(name: str) -> FileStore:
    """Return a tree in the data folder."""
    data = Path(settings.DATA_DIR)
    return FileStore(data / name, data / "locks", installation.installation_id())


def database(name: str) -> DatabaseStore:
    """Return a tree in the database."""
    return DatabaseStore(name, locks(), "slug" if name in _BY_SLUG else "id")


def locks() -> Locks:
    """Return locks that every process of this installation sees.

    SQLite is one machine's: there a file is enough.
    """
    if bodies.in_database() and connection.vendor == "postgresql":
        return AdvisoryLocks()
    return LockFiles(Path(settings.DATA_DIR) / "locks")

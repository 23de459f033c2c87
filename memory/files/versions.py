"""Versions of memory files: recorded, read, compared, pruned.

The bytes of a version are a blob named by its SHA-256; equal bytes are kept once per
workspace. A blob is checked against its name on every read.
"""

from __future__ import annotations

import difflib
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import pgettext

from memory.jobs import time_box
from memory.models import MemoryFile, MemoryVersion
from memory.ports import subject_linker
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.rules.translation import gettext_noop
from memory.stored_files import trees
from memory.stored_files.store import RootLost, Store, digest
from memory.workspace_settings import declarations

KEEP_NEWEST: Final = 3
KEEP_DAYS: Final = declarations.VERSIONS_RETENTION_DAYS.default
ORPHAN_AGE: Final = timedelta(hours=1)


class BlobDamaged(errors.AppError):
    """A version's blob is missing or has other bytes than were written."""

    code, status, title = "blob_damaged", 409, gettext_noop("Version is damaged")
    sentence = gettext_noop(
        "The bytes of this version are {state}; it cannot be shown or restored."
    )


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a comparison; ``kind`` is same, added, removed or place."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Pruned:
    """The numbers of deleted versions and blobs."""

    versions: int
    blobs: int


def blobs() -> Store:
    return trees.tree(trees.BLOBS)


def blob_parts(workspace_id: str, sha256: str) -> tuple[str, str, str]:
    """Return a blob's path below the root of the blobs."""
    return workspace_id, sha256[:2], sha256


def striped(sha256: str) -> AbstractContextManager[None]:
    """Hold the lock of a blob; one lock serves a sixteenth of all blobs."""
    return blobs().locked(f"blobs:{sha256[:1]}")


def keep(workspace_id: str, data: bytes) -> str:
    """Store bytes as a blob, durably; return their SHA-256.

    An existing intact blob gets a new time, so that a collection of orphans before the
    version is stored does not delete it; a damaged one is written again.
    """
    sha256 = digest(data)
    store, parts = blobs(), blob_parts(workspace_id, sha256)
    with striped(sha256):
        try:
            stored = store.read(parts)
        except RootLost:
            raise
        except errors.AppError:
            stored = None
        if stored is not None and stored.sha256 == sha256:
            store.touch(parts)
        else:
            store.write(parts, data)
    return sha256


def read(version: MemoryVersion) -> bytes:
    """Return a version's bytes; raise BlobDamaged when they changed or are gone."""
    if not version.sha256:
        return b""
    stored = blobs().read(blob_parts(version.workspace_id, version.sha256))
    if stored is None:
        raise BlobDamaged(state=pgettext("bytes", "missing"))
    if stored.sha256 != version.sha256:
        raise BlobDamaged(state=pgettext("bytes", "changed"))
    return stored.data


def latest(file: MemoryFile) -> MemoryVersion | None:
    """Return a file's newest finished version."""
    return file.versions.filter(committed=True).order_by("-number").first()


def log(file: MemoryFile, limit: int = 50) -> list[MemoryVersion]:
    """Return a file's finished versions, newest first."""
    rows = file.versions.filter(committed=True).select_related("parent")
    return list(rows.order_by("-number")[:limit])


def _author(by: Actor) -> dict[str, str | None]:
    return {
        "role": by.role.value,
        "workspace_id": by.workspace_id,
        "id": by.id,
        "label": by.label,
        "crew_id": by.crew_id,
    }


def begin(
    file: MemoryFile,
    data: bytes | None,
    *,
    by: Actor,
    source: str,
    note: str = "",
    subjects: tuple[str, ...] = (),
) -> MemoryVersion:
    """Store the intention to write bytes as an uncommitted version; None removes.

    The row refers to the blob before the blob exists: a deletion of unreferenced blobs
    can never delete one that is about to be used.
    """
    last = file.versions.aggregate(last=Max("number"))["last"] or 0
    version = MemoryVersion(
        workspace_id=file.workspace_id,
        file=file,
        number=last + 1,
        parent=latest(file),
        sha256=digest(data) if data is not None else "",
        bytes=len(data or b""),
        written_by=by.label,
        author=_author(by),
        source=source,
        note=note[:400],
    )
    text = (data or b"").decode("utf-8", "replace")
    text_row = subject_linker.TextRow(version.pk, (text, file.key, note), subjects)
    with transaction.atomic():
        version.save(force_insert=True)
        subject_linker.note(file.workspace_id, "versions", [text_row])
    if data is not None:
        keep(file.workspace_id, data)
    return version


def diff(before: bytes, after: bytes, context: int = 3) -> list[DiffLine]:
    """Return the unified diff of two texts, line by line."""
    old, new = (
        data.decode("utf-8", "replace").splitlines() for data in (before, after)
    )
    kinds = {"+": "added", "-": "removed", "@": "place", " ": "same"}
    lines = list(difflib.unified_diff(old, new, lineterm="", n=context))[2:]
    return [DiffLine(kinds.get(line[:1], "same"), line) for line in lines]


def prune(
    workspace_id: str, *, days: int = KEEP_DAYS, newest: int = KEEP_NEWEST
) -> Pruned:
    """Delete old versions; the newest of each file always stay, 0 days keeps all.

    Raises RootLost when the folder of the blobs is gone or another installation's.
    """
    blobs().check()
    count = 0
    if days > 0:
        edge = timezone.now() - timedelta(days=days)
        for file in MemoryFile.objects.filter(workspace_id=workspace_id):
            # An uncommitted version is not the newest, however high its number.
            finished = file.versions.filter(committed=True)
            newest_first = finished.order_by("-number").values_list("pk", flat=True)
            newest_pks = list(newest_first[: max(1, newest)])
            old = finished.filter(written_at__lt=edge)
            count += old.exclude(pk__in=newest_pks).delete()[0]
            if time_box.is_ending():
                return Pruned(count, 0)
    return Pruned(count, collect_orphans(workspace_id))


def collect_orphans(workspace_id: str) -> int:
    """Delete blobs that no version refers to, older than ``ORPHAN_AGE``."""
    store, count = blobs(), 0
    shas = set(
        MemoryVersion.objects.filter(workspace_id=workspace_id).values_list(
            "sha256", flat=True
        )
    )
    for parts in list(store.walk((workspace_id,))):
        name = parts[-1]
        if len(name) != 64 or name in shas:
            continue
        with striped(name):
            if store.age(parts) > ORPHAN_AGE.total_seconds():
                count += store.remove(parts)
    return count

"""Commit a version after its bytes are on disk, and recover after a crash.

An intention (an uncommitted version) is stored before the bytes are written. After a
crash the next access finds it: when the bytes on disk are the intended ones, the write
is completed in its author's name; otherwise it was never acknowledged, and the
intention is deleted. In the database bytes and version are committed together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.db import connection, transaction
from django.utils import timezone

from memory.files import paths, search_index
from memory.files.paths import Owner
from memory.installation import bodies
from memory.journal import append as journal
from memory.models import MemoryFile, MemoryVersion
from memory.rules.entries import NewEntry
from memory.rules.permissions import Actor, Role
from memory.rules.tiers import Place

Step = Callable[[str], None]


def _no_step(_name: str) -> None:
    return None


# Called after each step with its name; crash tests kill the process there.
step: Step = _no_step


def file_of(owner: Owner, place: Place) -> MemoryFile:
    """Return the row of a file, created when there is none."""
    row, _ = MemoryFile.objects.get_or_create(
        workspace_id=owner.workspace_id,
        path=owner.path(place),
        defaults={
            "crew": owner.crew,
            "agent": owner.agent,
            "tier": place.tier.value,
            "key": place.key,
            "label": place.label,
        },
    )
    return row


def recover(file: MemoryFile) -> None:
    """Complete or delete the intentions of interrupted writes."""
    unfinished = file.versions.filter(committed=False).order_by("number")
    if not unfinished:
        return
    if file.sha256:
        paths.require_tree(paths.owner_of(file).crew.workspace.slug)
    file.refresh_from_db(fields=["sha256"])
    for version in unfinished:
        stored = paths.file_store().read(paths.parts_of(file))
        # Where a write changed nothing, nothing shows that it was done.
        if (stored.sha256 if stored else "") == version.sha256 != file.sha256:
            text = stored.data.decode("utf-8", "replace") if stored else ""
            settle(file, version, text)
        else:
            version.delete()


def put(file: MemoryFile, version: MemoryVersion, data: bytes | None) -> None:
    """Put a version's bytes in place, None removes, and commit the version.

    Where that fails the former bytes come back, as far as disk and database let them:
    else the next access would complete what was answered with an error, and a caller
    who repeats it would have it twice. Rows are taken back by their transaction.
    """
    parts, text = paths.parts_of(file), (data or b"").decode("utf-8", "replace")
    if bodies.in_database():
        with transaction.atomic():
            _place(parts, data)
            step("rename")
            settle(file, version, text)
        return
    before = paths.file_store().read(parts)
    _place(parts, data)
    step("rename")
    try:
        settle(file, version, text)
    except Exception:
        # Where the connection broke nobody knows whether the version is committed.
        if connection.is_usable() and not _is_committed(version):
            _place(parts, before.data if before else None)
        raise


def _is_committed(version: MemoryVersion) -> bool:
    return MemoryVersion.objects.filter(pk=version.pk, committed=True).exists()


def _place(parts: Sequence[str], data: bytes | None) -> None:
    if data is None:
        paths.file_store().remove(parts)
    else:
        paths.file_store().write(parts, data)


def settle(file: MemoryFile, version: MemoryVersion, text: str) -> None:
    """Commit a version with file row, word index and journal entry, atomically."""
    with transaction.atomic():
        version.committed = True
        version.save(update_fields=["committed"])
        set_current(file, version.sha256, text)
        _record(file, version)


def set_current(file: MemoryFile, sha256: str, text: str) -> None:
    """Make a text the one that file row and word index have; "" for a removed file."""
    file.sha256, file.bytes = sha256, len(text.encode())
    file.updated_at = timezone.now()
    file.save(update_fields=["sha256", "bytes", "updated_at"])
    search_index.put(file, text)


def _record(file: MemoryFile, version: MemoryVersion) -> None:
    verb = "updated" if version.sha256 else "removed"
    new = NewEntry(
        entry_type=f"memory.{verb}",
        summary=f"{file.label} {verb}, {version.bytes:,} bytes",
        payload={
            "file": file.label,
            "tier": file.tier,
            "sha256": version.sha256,
            "bytes": version.bytes,
            "version": version.number,
            "source": version.source,
        },
        refs={"file_id": file.id, "version_id": version.id},
        crew_id=file.crew_id,
        agent_id=file.agent_id,
    )
    journal.write([new], by=author_of(version))


def author_of(version: MemoryVersion) -> Actor:
    """Return a version's author as an actor; after a crash only the row has it."""
    fields = dict(version.author)
    return Actor(role=Role(fields.pop("role")), **fields)

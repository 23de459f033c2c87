"""The folders of an installation: marking them at first start, and checking them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import transaction

from memory.installation import bodies, key_files, keys
from memory.installation.keys import KEYS, SAMPLE, WAY_OUT
from memory.models import ChainHead, Installation, MemoryFile, ids
from memory.models.installation import ONLY

FOLDERS: Final = ("keys", "files", "blobs")
# A machine's own folder, where bodies and keys are in the database.
OWN: Final = ("keys",)


def names() -> tuple[str, ...]:
    """Return the folders that carry the installation's id."""
    return OWN if bodies.in_database() else FOLDERS


def marks() -> set[str]:
    """Return the installation ids that the folders carry; at most one is right."""
    root = Path(settings.DATA_DIR)
    return {mark for name in names() if (mark := key_files.mark_of(root / name))}


def _mismatch() -> str | None:
    """Return why database and data folder do not match, None when they may."""
    root = Path(settings.DATA_DIR)
    rows = MemoryFile.objects.exclude(sha256="").order_by("-updated_at")
    live_files = list(rows.values_list("path", flat=True)[:SAMPLE])
    if len(marks()) > 1:
        return "The folders keys, files and blobs come from different installations."
    if live_files and not any((root / "files" / path).is_file() for path in live_files):
        return (
            "The database knows memory files and the data folder has none of them: set"
            f" CREWSHIP_DATA_DIR to the folder that belongs to it; {WAY_OUT}."
        )
    is_new = not live_files and not ChainHead.objects.filter(seq__gt=0).exists()
    if is_new and _has_folders(root / "files", root / "blobs"):
        return (
            "The data folder belongs to another installation, and this database is a"
            f" new one: choose an empty folder or its own database; {WAY_OUT}."
        )
    return None


def _has_folders(*roots: Path) -> bool:
    return any(
        entry.is_dir() for root in roots if root.is_dir() for entry in root.iterdir()
    )


def establish() -> str | None:
    """Record id and keys when database and folders match; else return why not."""
    keys.load_missing()
    for reason in (_mismatch(), *map(keys.recording_fault, KEYS)):
        if reason:
            return reason
    mark_ids = marks()
    with transaction.atomic():
        name = mark_ids.pop() if mark_ids else ids.make("inst")
        row, is_ours = Installation.objects.get_or_create(
            number=ONLY, defaults={"installation_id": name}
        )
        # Another process that starts at the same time waits for this row.
        if is_ours:
            keys.make_missing()
            if not MemoryFile.objects.exclude(sha256="").exists():
                row.bodies = settings.BODIES
                row.save(update_fields=["bodies"])
            keys.seal_present()
            mark_folders(Path(settings.DATA_DIR), row.installation_id)
            step("marked")
            keys.record(row.installation_id)
    step("recorded")
    return None


def _no_step(_name: str) -> None:
    return None


# Called after each step with its name; the crash tests end the process there.
step: Callable[[str], None] = _no_step


def mark_folders(
    root: Path, installation_id: str, marked: tuple[str, ...] = ()
) -> None:
    """Write the id into the folders of a data folder, creating missing ones.

    Without names into those that this process uses.
    """
    for name in marked or names():
        if key_files.mark_of(root / name) != installation_id:
            key_files.replace(root / name / key_files.MARK, installation_id)


def join(installation_id: str) -> None:
    """Mark the folder of a machine that is new to an installation on several."""
    if bodies.in_database() and not marks():
        mark_folders(Path(settings.DATA_DIR), installation_id)


# ── Checks ───────────────────────────────────────────────────────────────────
def signature(path: str) -> tuple[object, ...]:
    """Return path, inodes and times of a folder and its mark, to detect changes.

    The path is a text, because every request asks and a Path takes longer to build.
    """
    folder, mark = os.stat(path), os.stat(f"{path}/{key_files.MARK}")  # noqa: PTH116
    return (
        *(path, folder.st_dev, folder.st_ino, folder.st_mtime_ns),
        *(mark.st_ino, mark.st_mtime_ns, mark.st_size),
    )


def _missing_trees(root: Path) -> list[str]:
    """Return the slugs of workspaces that have files and no folder."""
    rows = MemoryFile.objects.exclude(sha256="").order_by()
    slugs = rows.values_list("workspace__slug", flat=True).distinct()
    return sorted(slug for slug in slugs if not (root / slug).is_dir())


def fault(name: str, installation_id: str) -> str | None:
    """Return what is wrong with one folder, None when it is this installation's."""
    path = Path(settings.DATA_DIR) / name
    mark = key_files.mark_of(path)
    if not path.is_dir():
        return (
            f"The folder {name} of the data folder is gone: bring it back (is a volume"
            f" not mounted?); {WAY_OUT}."
        )
    if mark != installation_id:
        state = "belongs to another installation" if mark else "is not marked as ours"
        return (
            f"The folder {name} of the data folder {state}: set CREWSHIP_DATA_DIR to"
            f" the folder of this installation; {WAY_OUT}."
        )
    if name == "files" and (slugs := _missing_trees(path)):
        return (
            f"The database knows memory files of {len(slugs)} workspaces that have no"
            f" folder below files any more: bring them back; {WAY_OUT}."
        )
    return None

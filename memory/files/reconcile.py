"""Reconcile files changed on disk by others: scan, version and index them.

A watcher makes this fast, a sweep makes it complete, and every read reconciles first,
so that no unscanned text is ever shown. A text that the scanner holds, or that brings
back a person who was erased, is removed from the disk: the last good version is
restored, and the found bytes are held for review.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import structlog
from django.db.models import Q

from memory.files import commit, quarantine, suppressed_names, versions, write_check
from memory.files import paths as file_paths
from memory.files.paths import Owner
from memory.files.quarantine import Incoming, Judgement
from memory.jobs import time_box
from memory.models import MemoryFile, Workspace
from memory.rules import entries, errors
from memory.rules.permissions import system
from memory.rules.tiers import HARD_CAP, Place
from memory.scanner.provenance import Writer
from memory.stored_files.store import RootLost, Stored, Unsafe

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Report:
    """The counts of a sweep."""

    seen: int = 0
    changed: int = 0
    removed: int = 0
    held: int = 0
    unsafe: int = 0


def notice(owner: Owner, place: Place) -> str:
    """Reconcile one file with the disk.

    Returns same, changed, removed or held. Raises Unsafe for links and devices,
    RootLost when the whole tree is gone: then no file counts as removed.
    """
    owner = owner.of(place)
    store = file_paths.file_store()
    file = file_paths.row_of(owner, place)
    stored_file = store.read(owner.parts(place))
    if (stored_file.sha256 if stored_file else "") == (file.sha256 if file else ""):
        if file is None or not file.versions.filter(committed=False).exists():
            return "same"
    with store.locked(owner.path(place)):
        return look(commit.file_of(owner, place))


@contextmanager
def locked(owner: Owner, place: Place) -> Iterator[MemoryFile]:
    """Hold a file's lock; yield its row, reconciled with the disk."""
    owner = owner.of(place)
    with file_paths.file_store().locked(owner.path(place)):
        file = commit.file_of(owner, place)
        look(file)
        yield file


def look(file: MemoryFile) -> str:
    """Reconcile one file whose lock the caller holds."""
    commit.recover(file)
    file.refresh_from_db(fields=["sha256", "bytes", "updated_at"])
    stored_file = file_paths.file_store().read(file_paths.parts_of(file))
    if (stored_file.sha256 if stored_file else "") == file.sha256:
        return "same"
    return _record_change(file, stored_file)


def _record_change(file: MemoryFile, stored: Stored | None) -> str:
    owner = file_paths.owner_of(file)
    by = system(owner.workspace_id, "disk")
    if stored is None:
        file_paths.require_tree(owner.crew.workspace.slug)
        removal = versions.begin(file, None, by=by, source="disk")
        commit.settle(file, removal, "")
        return "removed"
    text, incoming = _text(stored), _incoming(file, stored)
    if text is None:
        # Bytes that are no text, or too many, are held, so that nothing is lost.
        policy = quarantine.policy(owner.workspace_id)
        verdict = incoming.scan(incoming.text[:HARD_CAP], policy)
        judgement = Judgement("hold", "the bytes found on disk are not text.", verdict)
    else:
        served = _served_text(file)
        suppression = suppressed_names.judge(incoming, text, served)
        judgement = suppression or write_check.judge_write(incoming, served, text)
        if judgement.action == "allow":
            version = versions.begin(file, stored.data, by=by, source="disk")
            commit.settle(file, version, text)
            return "changed"
    is_named = suppressed_names.names_file(incoming)
    if is_named:
        incoming = suppressed_names.without_name(incoming)
    quarantine.hold(incoming, judgement, by=by)
    _put_back(file)
    if is_named and not file.versions.exists():
        _forget(file)
    return "held"


def _incoming(file: MemoryFile, stored: Stored) -> Incoming:
    """Return the bytes found on disk, of which nobody says who wrote them."""
    return Incoming(
        owner=file_paths.owner_of(file),
        place=file_paths.place_of(file),
        text=stored.data.decode("utf-8", "replace"),
        mode="replace",
        source="disk",
        written_by="found on disk",
        base_sha256=file.sha256,
        raw=stored.data,
        writer=Writer.UNKNOWN.value,
    )


def _forget(file: MemoryFile) -> None:
    """Delete the row and the lock of a file that never had a version."""
    path = file.path
    file.delete()
    file_paths.file_store().forget_lock(path)


def _served_text(file: MemoryFile) -> str:
    """Return the text that the file had before, "" when it cannot be read."""
    version = versions.latest(file)
    try:
        data = versions.read(version) if version and version.sha256 else b""
    except errors.AppError:
        return ""
    return data.decode("utf-8", "replace")


def _text(stored: Stored) -> str | None:
    """Return a file's text, None when it is no UTF-8 text or too large."""
    try:
        text = stored.data.decode()
    except UnicodeDecodeError:
        return None
    return text if entries.is_storable(text) and len(stored.data) <= HARD_CAP else None


def _put_back(file: MemoryFile) -> None:
    """Restore the last good version in place of a held text."""
    store, version = file_paths.file_store(), versions.latest(file)
    try:
        data = versions.read(version) if version is not None else b""
    except errors.AppError:
        log.warning("last_good_version_unreadable", file=file.id)
        data = b""
    if data:
        store.write(file_paths.parts_of(file), data)
    else:
        store.remove(file_paths.parts_of(file))


def visit(parts: Iterable[str], report: Report) -> None:
    """Reconcile one path below the root, for the watcher and the sweep."""
    located = file_paths.locate(tuple(parts))
    if located is None:
        return
    report.seen += 1
    try:
        outcome = notice(*located)
    except Unsafe:
        report.unsafe += 1
        return
    except RootLost:
        raise
    except errors.AppError as error:
        log.warning("file_not_reconciled", code=error.problem_code)
        return
    if outcome != "same":
        setattr(report, outcome, getattr(report, outcome) + 1)


def sweep(workspace_slug: str | None = None) -> Report:
    """Reconcile every file on disk and every file in the database.

    Raises RootLost when the folder of the files is gone or another installation's.
    """
    report, store = Report(), file_paths.file_store()
    start = (workspace_slug,) if workspace_slug else ()
    paths = set(store.walk(start))
    workspaces = Workspace.objects.filter(
        Q(slug=workspace_slug) if workspace_slug else Q()
    )
    rows = MemoryFile.objects.filter(workspace__in=workspaces)
    paths |= {file_paths.parts_of(file) for file in rows.only("path")}
    for parts in sorted(paths):
        if time_box.is_ending():
            break
        visit(parts, report)
    return report

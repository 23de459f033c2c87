"""Erase words from memory files: live text, every version, blobs, the word index.

One file at a time, under its lock. The order survives a kill at any point: write new
blobs, then the live file, then every row in one commit, then delete the old blobs.
After a kill the next access versions the file on disk, and a second run has the same
result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from django.db import transaction

from memory import scanner
from memory.files import (
    commit,
    paths,
    quarantine,
    reconcile,
    scan_context,
    versions,
)
from memory.files.quarantine import Policy
from memory.models import (
    BlockedSource,
    Clearance,
    HeldFile,
    HeldRecord,
    KnownAttack,
    MemoryFile,
    MemoryVersion,
    ReviewLabel,
    ScannerProposal,
)
from memory.rules import errors
from memory.stored_files.store import RawFile, RootLost, Store, digest

REDACTED: Final = "Words were erased from this version."
_HELD_TEXTS: Final = (
    "key", "label", "written_by", "claimed_by", "reason", "decided_by",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Redactor:
    """The functions that erase: ``edit`` for a file's text, ``mask`` for other values.

    Both return their argument unchanged when nothing in it is to be erased.
    """

    edit: Callable[[str], str]
    mask: Callable[[Any], Any]


# ── Tier files ───────────────────────────────────────────────────────────────
def texts(file: MemoryFile) -> Iterator[tuple[MemoryVersion, str]]:
    """Return a file's versions with their text, oldest first; each blob is read once.

    A version whose blob is missing is empty; a damaged blob is read as it is. Raises
    RootLost when the whole folder is gone.
    """
    text_of: dict[str, str] = {"": ""}
    for version in file.versions.order_by("number"):
        if version.sha256 not in text_of:
            text_of[version.sha256] = _text(file.workspace_id, version.sha256)
        yield version, text_of[version.sha256]


def _text(workspace_id: str, sha256: str) -> str:
    try:
        stored = versions.blobs().read(versions.blob_parts(workspace_id, sha256))
    except RootLost:
        raise
    except errors.AppError:
        return ""
    return stored.data.decode("utf-8", "replace") if stored else ""


def added(version: MemoryVersion) -> frozenset[str]:
    """Return the lines that a version added to its parent."""
    before = version.parent
    old = _text(before.workspace_id, before.sha256) if before else ""
    new = _text(version.workspace_id, version.sha256)
    old_lines = {line.strip() for line in old.splitlines()}
    fresh = {line.strip() for line in new.splitlines()} - old_lines
    return frozenset(line for line in fresh if any(map(str.isalnum, line)))


def rewrite(file: MemoryFile, pen: Redactor) -> int:
    """Edit a file and every version of it; return how many versions changed.

    A version keeps its number and gets the note ``REDACTED``. Raises Busy or Unsafe.
    """
    store = paths.file_store()
    with store.locked(file.path):
        reconcile.look(file)
        stored = store.read(paths.parts_of(file))
        if stored is not None and stored.sha256 == file.sha256:
            # A damaged newest blob is restored before it is edited.
            versions.keep(file.workspace_id, stored.data)
        rows, new_shas = _edited(file, pen)
        commit.step("erasing-blobs")
        live = new_shas.get(file.sha256, file.sha256)
        _put(store, file, live)
        commit.step("erasing-live")
        before = {row.sha256 for row in rows}
        count = _commit(file, rows, new_shas, pen)
        commit.step("erasing-rows")
        delete_unused_blobs(file.workspace_id, before)
    return count


def _edited(
    file: MemoryFile, pen: Redactor
) -> tuple[list[MemoryVersion], dict[str, str]]:
    """Return a file's versions, and old sha → new sha of the texts that change."""
    rows: list[MemoryVersion] = []
    new_shas: dict[str, str] = {}
    for version, text in texts(file):
        rows.append(version)
        if version.sha256 in new_shas:
            continue
        remainder = pen.edit(text)
        if remainder == text:
            continue
        new_shas[version.sha256] = (
            versions.keep(file.workspace_id, remainder.encode())
            if remainder.strip()
            else ""
        )
    return rows, new_shas


def _put(store: Store, file: MemoryFile, sha256: str) -> None:
    """Set the live file to the bytes of a blob; remove it when there is no blob."""
    if sha256 == file.sha256:
        return
    if sha256:
        store.write(paths.parts_of(file), _text(file.workspace_id, sha256).encode())
    else:
        store.remove(paths.parts_of(file))


def _commit(
    file: MemoryFile, rows: list[MemoryVersion], new_shas: dict[str, str], pen: Redactor
) -> int:
    count = 0
    with transaction.atomic():
        for row in rows:
            if row.sha256 in new_shas:
                row.sha256, row.note = new_shas[row.sha256], REDACTED
                row.bytes = len(_text(file.workspace_id, row.sha256).encode())
                count += 1
            row.note = str(pen.mask(row.note))[:400]
            row.written_by = str(pen.mask(row.written_by))[:254]
            row.author = {**row.author, "label": row.written_by}
        names = ["sha256", "bytes", "note", "written_by", "author"]
        MemoryVersion.objects.bulk_update(rows, names, batch_size=50)
        if file.sha256 in new_shas:
            sha256 = new_shas[file.sha256]
            commit.set_current(file, sha256, _text(file.workspace_id, sha256))
    return count


def remove(file: MemoryFile) -> None:
    """Delete a whole file: live text, every version, its row, its blobs, its lock.

    For a file about one person, whose name is in the file's name.
    """
    store = paths.file_store()
    with store.locked(file.path):
        shas = set(file.versions.values_list("sha256", flat=True))
        store.remove(paths.parts_of(file))
        commit.step("erasing-live")
        workspace_id, path = file.workspace_id, file.path
        file.delete()
        commit.step("erasing-rows")
        delete_unused_blobs(workspace_id, shas)
        store.forget_lock(path)


# ── Blobs and stray files ────────────────────────────────────────────────────
def delete_unused_blobs(workspace_id: str, shas: Iterable[str]) -> int:
    """Delete blobs that no version refers to, of any age; return how many.

    A writer stores the version before its blob, so that no blob in use is deleted.
    """
    store, count = versions.blobs(), 0
    for sha256 in sorted(sha for sha in shas if sha):
        with versions.striped(sha256):
            users = MemoryVersion.objects.filter(
                workspace_id=workspace_id, sha256=sha256
            )
            if not users.exists():
                count += store.remove(versions.blob_parts(workspace_id, sha256))
    return count


def strays(workspace_id: str, slug: str) -> Iterator[RawFile]:
    """Yield files of a workspace that have no row.

    Temporary files of a crash, blobs without a version, files with names of no tier.
    """
    live, blobs = paths.file_store(), versions.blobs()
    live.check()
    blobs.check()
    live_paths = set(
        MemoryFile.objects.filter(workspace_id=workspace_id)
        .exclude(sha256="")
        .values_list("path", flat=True)
    )
    yield from (file for file in live.raw((slug,)) if file.path not in live_paths)
    rows = MemoryVersion.objects.filter(workspace_id=workspace_id)
    version_shas = set(rows.values_list("sha256", flat=True))
    for file in blobs.raw((workspace_id,)):
        if file.parts[-1] not in version_shas:
            yield file


# ── Held texts ───────────────────────────────────────────────────────────────
def discard_held(workspace_id: str, ids: Iterable[str]) -> int:
    """Delete held texts with their dependent rows; return how many there were.

    One that a blocked source refers to is emptied instead: the block stays.
    """
    rows = HeldFile.objects.filter(workspace_id=workspace_id, pk__in=list(ids))
    with transaction.atomic():
        blocking = set(
            BlockedSource.objects.filter(held__in=rows).values_list("held", flat=True)
        )
        for row in rows.filter(pk__in=blocking).select_for_update(of=("self",)):
            _empty(row)
        rest = rows.exclude(pk__in=blocking)
        return len(blocking) + rest.delete()[1].get(HeldFile._meta.label, 0)


def _empty(row: HeldFile) -> None:
    """Empty a held text's row: only its existence stays."""
    for name in ("key", "sha256", "base_sha256", "fingerprint", "signature"):
        setattr(row, name, "")
    row.label, row.reason, row.body, row.bytes = row.tier, REDACTED, b"", 0
    row.findings, row.outcome = [], {}
    row.written_by = row.claimed_by = row.decided_by = ""
    row.save()
    for model in (Clearance, KnownAttack, HeldRecord, ReviewLabel, ScannerProposal):
        model.objects.filter(held=row).delete()


def mask_held(workspace_id: str, ids: Iterable[str], pen: Redactor) -> int:
    """Mask words in held texts and scan them again; return how many."""
    with transaction.atomic():
        rows = HeldFile.objects.select_for_update(of=("self",)).filter(
            workspace_id=workspace_id, pk__in=list(ids)
        )
        policy = quarantine.policy(workspace_id)
        for row in rows:
            _mask_held(row, pen, policy)
        return len(rows)


def _mask_held(row: HeldFile, pen: Redactor, policy: Policy) -> None:
    context = scan_context.context_of(row)
    for name in _HELD_TEXTS:
        limit = getattr(HeldFile._meta.get_field(name), "max_length", None)
        setattr(row, name, str(pen.mask(getattr(row, name)))[:limit])
    row.outcome = pen.mask(row.outcome)
    before = bytes(row.body).decode("utf-8", "replace")
    text = str(pen.mask(before))
    if text != before:
        row.body, row.bytes = text.encode(), len(text.encode())
        row.sha256 = digest(text.encode())
        row.fingerprint = scanner.fingerprint(text)
        row.signature = scanner.signature(text)
        # The clearance, what is proposed and the confirmed attack were about the
        # former text.
        Clearance.objects.filter(held=row).delete()
        ScannerProposal.objects.filter(held=row).delete()
        KnownAttack.objects.filter(held=row).update(signature=row.signature)
        by = {"source": row.source, "tier": row.tier, "writer": context.writer}
        verdict = policy.scan(text, **by)
        row.findings = [asdict(finding) for finding in verdict.findings]
    row.findings = pen.mask(row.findings)
    row.save()
    for draft in HeldRecord.objects.filter(held=row):
        draft.draft = {**pen.mask(draft.draft), "sha256": row.sha256}
        draft.save(update_fields=["draft"])

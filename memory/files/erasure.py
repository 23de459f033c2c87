"""Taking words out of memory files: live text, every version, blobs, the word index.

One file at a time, under its lock. The order survives a kill at any point: new blobs
first, then the live file, then every row in one commit, then the old blobs go. After a
kill in between the next visit versions what it finds, and a second run ends the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from django.db import transaction
from django.utils import timezone

from memory import scanner
from memory.files import commit, paths, reconcile, search_index, versions
from memory.files.storage import RootLost, Vault, digest
from memory.models import (
    BlockedSource,
    Clearance,
    HeldFile,
    HeldRecord,
    KnownAttack,
    MemoryFile,
    MemoryVersion,
)
from memory.rules import errors

REDACTED: Final = "Words were erased from this version."
_HELD_TEXTS: Final[dict[str, int | None]] = {
    "key": 64,
    "label": 80,
    "written_by": 254,
    "claimed_by": 254,
    "reason": None,
    "decided_by": 254,
}


@dataclass(frozen=True, slots=True)
class Pen:
    """What erasing does to a text: ``edit`` to a file's, ``mask`` to any other value.

    Both return their argument when nothing in it has to go.
    """

    edit: Callable[[str], str]
    mask: Callable[[Any], Any]


# ── Tier files ───────────────────────────────────────────────────────────────
def texts(file: MemoryFile) -> Iterator[tuple[MemoryVersion, str]]:
    """Return a file's versions with their text, oldest first; each blob is read once.

    A version whose bytes are gone has no text; damaged bytes are text all the same.
    Raises vault.RootLost when the whole folder is gone.
    """
    known: dict[str, str] = {"": ""}
    for version in file.versions.order_by("number"):
        if version.sha256 not in known:
            known[version.sha256] = _text(file.workspace_id, version.sha256)
        yield version, known[version.sha256]


def _text(workspace_id: str, sha256: str) -> str:
    try:
        found = versions.blobs().read(versions.blob_parts(workspace_id, sha256))
    except RootLost:
        raise
    except errors.HouseError:
        return ""
    return found.data.decode("utf-8", "replace") if found else ""


def added(version: MemoryVersion) -> frozenset[str]:
    """Return the lines that a version brought: what its parent did not have."""
    before = version.parent
    old = _text(before.workspace_id, before.sha256) if before else ""
    new = _text(version.workspace_id, version.sha256)
    known = {line.strip() for line in old.splitlines()}
    fresh = {line.strip() for line in new.splitlines()} - known
    return frozenset(line for line in fresh if any(map(str.isalnum, line)))


def rewrite(file: MemoryFile, pen: Pen) -> int:
    """Edit a file and every version of it; return how many versions changed.

    A version keeps its number and says that words were erased. Raises Busy or Unsafe.
    """
    vault = paths.vault()
    with vault.locked(file.path):
        reconcile.look(file)
        _heal(vault, file)
        rows, moved = _edited(file, pen)
        commit.step("erasing-blobs")
        live = moved.get(file.sha256, file.sha256)
        _put(vault, file, live)
        commit.step("erasing-live")
        before = {row.sha256 for row in rows}
        changed = _commit(file, rows, moved, pen)
        commit.step("erasing-rows")
        destroy(file.workspace_id, before)
    return changed


def _heal(vault: Vault, file: MemoryFile) -> None:
    """Make the newest blob whole again from the live file: what is left comes of it."""
    live = vault.read(tuple(file.path.split("/")))
    if live is not None and live.sha256 == file.sha256:
        versions.keep(file.workspace_id, live.data)


def _edited(file: MemoryFile, pen: Pen) -> tuple[list[MemoryVersion], dict[str, str]]:
    """Return a file's versions, and old sha → new sha of the texts that change."""
    rows: list[MemoryVersion] = []
    moved: dict[str, str] = {}
    for version, text in texts(file):
        rows.append(version)
        if version.sha256 in moved:
            continue
        left = pen.edit(text)
        if left != text:
            moved[version.sha256] = _kept(file, left)
    return rows, moved


def _kept(file: MemoryFile, text: str) -> str:
    """Keep what is left of a text; of one that is blank nothing is kept."""
    return versions.keep(file.workspace_id, text.encode()) if text.strip() else ""


def _put(vault: Vault, file: MemoryFile, sha256: str) -> None:
    """Bring the live file to the bytes of a blob; no blob means no file."""
    parts = tuple(file.path.split("/"))
    if sha256 == file.sha256:
        return
    if sha256:
        vault.write(parts, _text(file.workspace_id, sha256).encode())
    else:
        vault.remove(parts)


def _commit(
    file: MemoryFile, rows: list[MemoryVersion], moved: dict[str, str], pen: Pen
) -> int:
    changed = 0
    with transaction.atomic():
        for row in rows:
            if row.sha256 in moved:
                row.sha256, row.note = moved[row.sha256], REDACTED
                row.bytes = len(_text(file.workspace_id, row.sha256).encode())
                changed += 1
            row.note = str(pen.mask(row.note))[:400]
            row.written_by = str(pen.mask(row.written_by))[:254]
            row.author = {**row.author, "label": row.written_by}
        names = ["sha256", "bytes", "note", "written_by", "author"]
        MemoryVersion.objects.bulk_update(rows, names, batch_size=50)
        if file.sha256 in moved:
            file.sha256 = moved[file.sha256]
            text = _text(file.workspace_id, file.sha256)
            file.bytes, file.updated_at = len(text.encode()), timezone.now()
            file.save(update_fields=["sha256", "bytes", "updated_at"])
            if file.sha256:
                search_index.put(file, text)
            else:
                search_index.drop(file)
    return changed


def remove(file: MemoryFile) -> None:
    """Take a whole file away: live text, every version, its row, its blobs, its lock.

    For a file that is about one person: its very name is theirs.
    """
    vault = paths.vault()
    with vault.locked(file.path):
        shas = set(file.versions.values_list("sha256", flat=True))
        vault.remove(tuple(file.path.split("/")))
        commit.step("erasing-live")
        workspace_id, path = file.workspace_id, file.path
        file.delete()
        commit.step("erasing-rows")
        destroy(workspace_id, shas)
        vault.forget_lock(path)


# ── Blobs and what lies about ────────────────────────────────────────────────
def destroy(workspace_id: str, shas: Iterable[str]) -> int:
    """Remove blobs that no version names any more, however young; return how many.

    A writer names a blob before it puts the bytes there, so that none of those in use
    can be taken from under it.
    """
    store, gone = versions.blobs(), 0
    for sha256 in sorted(one for one in shas if one):
        with versions.striped(sha256):
            named = MemoryVersion.objects.filter(
                workspace_id=workspace_id, sha256=sha256
            )
            if not named.exists():
                gone += store.remove(versions.blob_parts(workspace_id, sha256))
    return gone


def strays(workspace_id: str, slug: str) -> Iterator[Path]:
    """Return files in a workspace's folders that no row knows.

    Temporaries that a crash left, blobs without a version, files with names of no tier.
    """
    paths.vault().check()
    versions.blobs().check()
    live, blobs = paths.vault().root / slug, versions.blobs().root / workspace_id
    known = set(
        MemoryFile.objects.filter(workspace_id=workspace_id)
        .exclude(sha256="")
        .values_list("path", flat=True)
    )
    for path in _plain_files(live):
        if path.relative_to(paths.vault().root).as_posix() not in known:
            yield path
    rows = MemoryVersion.objects.filter(workspace_id=workspace_id)
    named = set(rows.values_list("sha256", flat=True))
    for path in _plain_files(blobs):
        if path.name not in named:
            yield path


def _plain_files(root: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(root, followlinks=False):
        for name in sorted(names):
            path = Path(folder) / name
            if path.is_file() and not path.is_symlink():
                yield path


def discard(path: Path) -> bool:
    """Remove a stray; return whether it was there."""
    with suppress(FileNotFoundError):
        path.unlink()
        return True
    return False


# ── Held texts ───────────────────────────────────────────────────────────────
def discard_held(workspace_id: str, ids: Iterable[str]) -> int:
    """Delete held texts with all that hangs on them; return how many there were.

    One that a block stands on is emptied instead: the block has to stay.
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
    """Leave of a held text only that there was one."""
    for name in ("key", "sha256", "base_sha256", "fingerprint", "signature"):
        setattr(row, name, "")
    row.label, row.reason, row.body, row.bytes = row.tier, REDACTED, b"", 0
    row.findings, row.outcome = [], {}
    row.written_by = row.claimed_by = row.decided_by = ""
    row.save()
    for model in (Clearance, KnownAttack, HeldRecord):
        model.objects.filter(held=row).delete()


def mask_held(workspace_id: str, ids: Iterable[str], pen: Pen) -> int:
    """Take words out of held texts, and judge them anew; return how many."""
    with transaction.atomic():
        rows = HeldFile.objects.select_for_update(of=("self",)).filter(
            workspace_id=workspace_id, pk__in=list(ids)
        )
        done = 0
        for row in rows:
            _mask_held(row, pen)
            done += 1
    return done


def _mask_held(row: HeldFile, pen: Pen) -> None:
    for name, limit in _HELD_TEXTS.items():
        setattr(row, name, str(pen.mask(getattr(row, name)))[:limit])
    row.outcome = pen.mask(row.outcome)
    before = bytes(row.body).decode("utf-8", "replace")
    text = str(pen.mask(before))
    if text != before:
        row.body, row.bytes = text.encode(), len(text.encode())
        row.sha256 = digest(text.encode())
        row.fingerprint = scanner.fingerprint(text)
        row.signature = scanner.signature(text)
        # Cleared and confirmed was the text as it was, and as that it is gone.
        Clearance.objects.filter(held=row).delete()
        KnownAttack.objects.filter(held=row).update(signature=row.signature)
        found = scanner.scan(text, source=row.source, tier=row.tier)
        row.findings = [asdict(finding) for finding in found.findings]
    row.findings = pen.mask(row.findings)
    row.save()
    for draft in HeldRecord.objects.filter(held=row):
        draft.draft = {**pen.mask(draft.draft), "sha256": row.sha256}
        draft.save(update_fields=["draft"])

"""Adopt a data folder or keys that are not those on record, on purpose.

For disasters: the folder or a key is lost. ``losses`` says what is lost for good before
anything is changed. A chain whose key is lost goes on with a new one: every earlier
entry is sealed as it is, so that later changes show, and verification counts it as
unproved, because earlier changes can no longer be detected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import transaction

from memory.files import paths, versions
from memory.installation import bodies, folders, keys, sealed_keys
from memory.installation import identity as installation
from memory.journal import append as journal
from memory.journal import head as chain_head
from memory.models import (
    ChainCheckpoint,
    ChainHead,
    ChainSegment,
    GatewaySetup,
    Installation,
    JournalEntry,
    MemoryFile,
    StoredFile,
    Workspace,
    WorkspaceSetting,
    ids,
)
from memory.models.installation import ONLY
from memory.rules import errors, hashing
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import system

BATCH: Final = 1_000


@dataclass(frozen=True, slots=True)
class Follower:
    """What another package loses, and does, when a folder or a key is replaced.

    Both are given the names of the keys that differ from those on record.
    """

    losses: Callable[[set[str]], list[str]]
    adopt: Callable[[set[str]], None]


_followers: list[Follower] = []


def register(follower: Follower) -> None:
    """Add what another package does; called at start-up."""
    if follower not in _followers:
        _followers.append(follower)


# ── What it costs ────────────────────────────────────────────────────────────
def _differing_keys() -> set[str]:
    """Return the names of the keys that differ from those the data was made with."""
    keys.load_missing()
    row = Installation.objects.first()
    if row is not None:
        names = {key.name for key in keys.differing(row.installation_id)}
    else:
        names = {key.name for key in keys.KEYS if keys.recording_fault(key)}
    if _unsigned_heads():
        names.add("journal")
    return names


def _unsigned_heads() -> list[ChainHead]:
    """Return the chain heads that the present journal key did not sign."""
    secret = keys.value(keys.BY_NAME["journal"]).encode()
    rows = ChainHead.objects.filter(seq__gt=0).order_by("pk")
    return [
        row
        for row in rows
        if hashing.head_mac(secret, row.workspace_id, row.seq, row.entry_hash)
        != row.mac
    ]


def _missing_files() -> tuple[int, int]:
    """Return how many memory files are missing, and how many of them are restorable."""
    rows = list(MemoryFile.objects.exclude(sha256=""))
    missing_rows = [row for row in rows if not _is_there("files", row.path)]
    recoverable = sum(
        _is_there("blobs", "/".join(versions.blob_parts(row.workspace_id, row.sha256)))
        for row in missing_rows
    )
    return len(missing_rows), recoverable


def _is_there(tree: str, path: str) -> bool:
    if bodies.in_database():
        return StoredFile.objects.filter(tree=tree, path=path).exists()
    return (Path(settings.DATA_DIR) / tree / path).is_file()


def losses() -> list[str]:
    """Return what is lost for good, a sentence each; empty when nothing is."""
    key_names, sentences = _differing_keys(), []
    if "journal" in key_names:
        heads = _unsigned_heads()
        workspaces = [head.workspace_id for head in heads]
        count = JournalEntry.objects.filter(workspace_id__in=workspaces).count()
        sentences.append(
            f"The hashes of {count} entries in {len(heads)} journals cannot be"
            " reproduced any more: they are sealed as they stand now, and nobody can"
            " prove what was changed in them before. Their chains go on in a new"
            " segment."
        )
    if "gateway" in key_names:
        count = GatewaySetup.objects.exclude(sealed_key="").count()
        count += WorkspaceSetting.objects.exclude(sealed="").count()
        sentences.append(
            f"{count} sealed keys of gateways and remote providers have to be entered"
            " again."
        )
    if "secret" in key_names:
        sentences.append("Everybody signs in again, and links that were sent are dead.")
    absent, recoverable = _missing_files()
    if absent:
        sentences.append(
            f"{absent} memory files are not in the folder: {recoverable} come back from"
            f" their newest version, {absent - recoverable} are recorded as removed."
        )
    for follower in _followers:
        sentences += follower.losses(key_names)
    return sentences


# ── Doing it ─────────────────────────────────────────────────────────────────
def adopt(reason: str) -> list[str]:
    """Adopt the folder and keys that this process has; return what was lost.

    Ends with an entry in every workspace's journal. Safe to repeat.
    """
    if not reason.strip():
        raise errors.Invalid("Say why, for the journal.", code="reason_required")
    lost_things, key_names = losses(), _differing_keys()
    with transaction.atomic():
        row = _row()
        if bodies.in_database():
            # What is sealed under another secret is lost with that.
            sealed_keys.remove_closed()
        keys.make_missing()
        keys.seal_present()
        folders.mark_folders(Path(settings.DATA_DIR), row.installation_id)
        _make_trees()
        keys.record(row.installation_id)
        for head in _unsigned_heads():
            _new_segment(head.workspace_id)
        installation.forget()
        for follower in _followers:
            follower.adopt(key_names)
        installation.forget()
        for workspace in Workspace.objects.order_by("number"):
            _record(workspace.pk, reason.strip(), lost_things)
    restore_files()
    return lost_things


def _make_trees() -> None:
    """Make the folder of each workspace: a missing one is a fault."""
    if bodies.in_database():
        return
    trees = Path(settings.DATA_DIR) / "files"
    for slug in Workspace.objects.values_list("slug", flat=True):
        (trees / slug).mkdir(mode=0o700, exist_ok=True)


def _row() -> Installation:
    marks = folders.marks()
    name = marks.pop() if len(marks) == 1 else ids.make("inst")
    row, _ = Installation.objects.get_or_create(
        number=ONLY, defaults={"installation_id": name}
    )
    return row


def _chunks(workspace_id: str) -> Iterator[list[JournalEntry]]:
    rows, after = JournalEntry.objects.filter(workspace_id=workspace_id), 0
    while chunk := list(rows.filter(seq__gt=after).order_by("seq")[:BATCH]):
        yield chunk
        after = chunk[-1].seq


def _new_segment(workspace_id: str) -> None:
    """Seal a chain's entries as they are and sign its head with the new key."""
    secret = keys.value(keys.BY_NAME["journal"]).encode()
    head = chain_head.locked(workspace_id)
    for chunk in _chunks(workspace_id):
        for row in chunk:
            if row.salt is not None:
                row.seal = hashing.adopted_seal(
                    secret, row.prev_hash, row.commitment, row.entry_hash
                )
            else:
                kind = "erased" if row.erased_at is not None else "redacted"
                content = journal.content(row)
                row.seal = hashing.seal(secret, row.entry_hash, kind, content)
        JournalEntry.objects.bulk_update(chunk, ["seal"], batch_size=200)
    for point in ChainCheckpoint.objects.filter(workspace_id=workspace_id):
        pairs = [(int(seq), str(digest)) for seq, digest in point.removed]
        point.mac = hashing.checkpoint_mac(secret, workspace_id, pairs)
        point.save(update_fields=["mac"])
    mac = hashing.segment_mac(secret, workspace_id, head.seq, head.entry_hash)
    ChainSegment.objects.create(
        workspace_id=workspace_id,
        last_seq=head.seq,
        last_hash=head.entry_hash,
        mac=mac,
    )
    head.mac = hashing.head_mac(secret, workspace_id, head.seq, head.entry_hash)
    chain_head.move(head)


def _record(workspace_id: str, reason: str, sentences: list[str]) -> None:
    new = NewEntry(
        entry_type="installation.adopted",
        severity=Severity.WARN,
        summary="The data folder and the keys were taken over as they are",
        payload={"reason": reason, "given_up": sentences},
    )
    journal.write([new], by=system(workspace_id, "adopt_data_folder"))


def restore_files() -> None:
    """Restore the live files whose newest version's blob still exists."""
    for file in MemoryFile.objects.exclude(sha256="").iterator():
        owner, place = paths.owner_of(file), paths.place_of(file)
        with paths.file_store().locked(file.path):
            if paths.file_store().read(owner.parts(place)) is not None:
                continue
            newest = versions.latest(file)
            try:
                data = versions.read(newest) if newest is not None else b""
            except errors.AppError:
                continue
            if data:
                paths.file_store().write(owner.parts(place), data)

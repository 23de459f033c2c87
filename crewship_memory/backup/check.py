"""Verifying a backup: another process restores it, in a folder that is deleted.

What is proved so is that it can be restored, and that everything in it verifies. The
rows lie decrypted in the folder meanwhile, readable by this account alone.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from crewship_memory.backup import child_process, header, key_store
from crewship_memory.backup.envelope import BadBackup, Input
from crewship_memory.backup.frames import Kind, Reader
from crewship_memory.backup.header import Header
from memory.installation import key_files


def _header(file: Path, secret: bytes) -> Header:
    with file.open("rb") as source:
        first = next(iter(Reader(Input(source, secret))))
    if first.kind != Kind.HEADER:
        raise BadBackup(reason="The backup does not begin with its header.")
    return header.parsed(first.content)


def check(file: Path, secret: bytes, scratch: Path | None = None) -> dict[str, Any]:
    """Return the report of a restore into a new installation on SQLite.

    Every byte is authenticated, every row and body counted, foreign keys and digests of
    bodies checked; hash chains, certificates and sample recalls verify or are problems.
    For a backup without keys those of this installation are used.
    """
    head = _header(file, secret)
    with tempfile.TemporaryDirectory(prefix="crewship-verify-", dir=scratch) as folder:
        if not head.has_keys:
            for name, text in key_store.collected().items():
                key_files.make(Path(folder) / "keys" / name, text)
        changes = {
            **child_process.without_keys(),
            "CREWSHIP_DATA_DIR": folder,
            "CREWSHIP_BACKUP_KEY": None,
            "CREWSHIP_BODIES": None,
            "CREWSHIP_REPLICA_URL": None,
            "DATABASE_URL": None,
            "REDIS_URL": None,
        }
        arguments = [str(file.absolute()), "--key-file", "/dev/stdin"]
        report = child_process.restore(arguments, changes, secret)
    return {**report, "has_keys": head.has_keys, "version": head.version}


def sentence(report: dict[str, Any]) -> str:
    """Return what a report says, for a terminal."""
    chains, certificates = report["chains"], report["certificates"]
    recalls, erasures = report["recalls"], report["erasures"]
    kind = "Move of" if report["kind"] == "move" else "Backup"
    made = f"{kind} {report['backup_id']}, {report['made_at']} ({report['engine']})"
    again = f"{erasures['erased']} rows erased, {erasures['masked']} masked"
    lines = [
        f"{made}: {report['entries']} entries, {report['rows']} rows.",
        f"Bodies: {report['bodies']}, {report['bodies_missing'] or 0} missing.",
        f"Chains: {chains['entries']} entries, {chains['breaks']} breaks.",
        f"Certificates: {certificates['verified']} of {certificates['count']} verify.",
        f"Recalls: {recalls['same']} of {recalls['asked']} have the same entries.",
        f"Recalls with the same entry first: {recalls['first']}.",
        f"Erasures carried out again: {erasures['carried_out']} ({again}).",
        f"Erasures are on record until: {erasures['known_until'] or 'none'}.",
        *report["notes"],
        *report["problems"],
        *erasures["left"],
    ]
    return "\n".join(lines)

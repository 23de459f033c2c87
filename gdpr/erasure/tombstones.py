"""Records of erasures outside the database, to repeat them after a restore.

One file per workspace in ``DATA_DIR/erasures``, one JSON line per record, appended and
synced before anything is erased. A line holds ids, fates and keyed digests of names,
never text; each has the number following the last one's and a MAC over itself and
the line before. A line torn by a crash is ignored: what it announced had not
begun. A backup has the records up to its end; a restore never replaces a list by a
shorter one.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone
from filelock import FileLock

from gdpr import encrypted_file
from gdpr.models import ActionKind, ActionStatus, GdprAction
from gdpr.suppression import Digest
from memory.installation import key_files
from memory.journal import append as journal
from memory.models import Workspace
from memory.rules import entries

FOLDER: Final = "erasures"
_FIRST: Final = "0" * 64
_DOMAIN: Final = b"crewship erasures v1\x00"


class Damaged(Exception):
    """The file was changed or damaged; the message may be shown to users."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One announced erasure of a person; ``rows`` is place → [[row id, fate], …]."""

    workspace_id: str
    case_id: str
    subject_id: str
    run: int
    at: str
    aliases: tuple[Digest, ...]
    rows: Mapping[str, Sequence[Sequence[str]]]
    number: int = 0


def _folder() -> Path:
    return Path(settings.DATA_DIR) / FOLDER


def path_of(workspace_id: str) -> Path:
    """Return the path of a workspace's file, which may not exist."""
    return _folder() / f"{workspace_id}.jsonl"


def _mac(before: str, body: str) -> str:
    message = _DOMAIN + before.encode() + body.encode()
    return hmac.new(journal.key(), message, hashlib.sha256).hexdigest()


@contextmanager
def _locked(workspace_id: str) -> Iterator[Path]:
    path = path_of(workspace_id)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with FileLock(f"{path}.lock", mode=0o600):
        yield path


# ── Reading ──────────────────────────────────────────────────────────────────
def lines(workspace_id: str) -> list[bytes]:
    """Return the complete lines of a workspace's file as they stand there."""
    return _lines(path_of(workspace_id))


def _lines(path: Path) -> list[bytes]:
    """Return the complete lines of a file; a torn last one is left out."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    return data[: data.rfind(b"\n") + 1].splitlines()


def _checked(line: bytes, before: str, number: int) -> tuple[Record, str]:
    try:
        outer = json.loads(line)
        body, mac = str(outer["body"]), str(outer["mac"])
        fields: dict[str, Any] = json.loads(body)
    except (ValueError, KeyError, TypeError) as error:
        message = f"Line {number} of the erasures file is not a record."
        raise Damaged(message) from error
    if not hmac.compare_digest(mac, _mac(before, body)):
        message = f"Line {number} of the erasures file was changed, moved or forged."
        raise Damaged(message)
    aliases = tuple(Digest(**alias) for alias in fields.pop("aliases"))
    record = Record(aliases=aliases, **fields)
    if record.number != number:
        message = f"Line {number} of the erasures file has the number {record.number}."
        raise Damaged(message)
    return record, mac


def checked_chain(chain: Iterable[bytes]) -> tuple[list[Record], str]:
    """Return the records of a chain and the MAC of its last line; raise Damaged."""
    records, mac = [], _FIRST
    for number, line in enumerate(chain, start=1):
        record, mac = _checked(line, mac, number)
        records.append(record)
    return records, mac


def read(workspace_id: str) -> list[Record]:
    """Return the records, oldest first; raise Damaged when the file was changed."""
    return checked_chain(lines(workspace_id))[0]


def workspaces() -> list[str]:
    """Return the ids of workspaces that have a file."""
    return sorted(path.stem for path in _folder().glob("*.jsonl"))


def signatures() -> dict[str, tuple[int, int, int]]:
    """Return workspace id → what of its file changes with every change to it."""
    try:
        with os.scandir(_folder()) as files:
            stats = {
                file.name.removesuffix(".jsonl"): file.stat()
                for file in files
                if file.name.endswith(".jsonl")
            }
    except FileNotFoundError:
        return {}
    return {
        name: (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        for name, stat in stats.items()
    }


def mac_of(line: bytes) -> str:
    """Return the MAC of a line as it stands there, "" when it is no line."""
    try:
        return str(json.loads(line)["mac"])
    except (ValueError, KeyError, TypeError):
        return ""


def end(workspace_id: str) -> str:
    """Return the MAC of a file's last complete line as it stands there, "" for none."""
    chain = lines(workspace_id)
    return mac_of(chain[-1]) if chain else ""


# ── Writing ──────────────────────────────────────────────────────────────────
def identity(record: Record) -> tuple[str, int, str]:
    """Return what makes two records the same: the run and its rows."""
    return record.case_id, record.run, entries.canonical(record.rows)


def announce(record: Record) -> Record:
    """Append a record, synced; idempotent for the same run and rows.

    The caller may not erase anything before this returns.
    """
    add(record.workspace_id, [record])
    own_identity = identity(record)
    return next(
        row for row in read(record.workspace_id) if identity(row) == own_identity
    )


def add(workspace_id: str, records: Iterable[Record]) -> int:
    """Append the records that a file has not, synced; return how many."""
    with _locked(workspace_id) as path:
        chain, mac = checked_chain(_lines(path))
        identities = {identity(record) for record in chain}
        absent = {identity(record): record for record in reversed(list(records))}
        fresh = [record for key, record in absent.items() if key not in identities]
        signed_lines = list(signed(reversed(fresh), mac, len(chain)))
        if signed_lines:
            _append(path, b"".join(line + b"\n" for _, line in signed_lines))
    return len(signed_lines)


def signed(
    records: Iterable[Record], mac: str, after: int
) -> Iterator[tuple[Record, bytes]]:
    """Yield records with the numbers that follow, each with its signed line."""
    for number, record in enumerate(records, start=after + 1):
        numbered = replace(record, number=number)
        aliases = [alias._asdict() for alias in record.aliases]
        body = entries.canonical({**asdict(numbered), "aliases": aliases})
        mac = _mac(mac, body)
        yield numbered, json.dumps({"body": body, "mac": mac}).encode()


def _append(path: Path, data: bytes) -> None:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        length = sum(len(record_line) + 1 for record_line in _lines(path))
        # Truncate a torn last line, which would corrupt this one.
        os.ftruncate(handle, length)
        os.lseek(handle, length, os.SEEK_SET)
        while data:
            data = data[os.write(handle, data) :]
        os.fsync(handle)
    finally:
        os.close(handle)
    encrypted_file.sync(path.parent)


def now() -> str:
    """Return the current time in the format of records."""
    return journal.stamp(timezone.now())


def sign_again() -> int:
    """Sign every record anew, because the key it was signed with is lost.

    Returns how many there are. Earlier changes to the file can no longer be detected,
    and the digests of names no longer match anybody.
    """
    count = 0
    for workspace_id in workspaces():
        with _locked(workspace_id) as path:
            chain = resigned(_lines(path))
            key_files.replace(path, "".join(f"{line}\n" for line in chain))
            count += len(chain)
    return count


def resigned(chain: Iterable[bytes]) -> list[str]:
    """Return lines with new MACs, whatever theirs are."""
    fresh, mac = [], _FIRST
    for line in chain:
        body = str(json.loads(line)["body"])
        mac = _mac(mac, body)
        fresh.append(json.dumps({"body": body, "mac": mac}))
    return fresh


# ── Comparing ────────────────────────────────────────────────────────────────
def unreplayed(workspace_id: str) -> list[Record]:
    """Return the records without a row in the audit log: the database is older.

    Every run has a row in the audit log before its record is written, so a record
    without one means that a backup was restored. Raises Damaged when the file was
    changed. A workspace that does not exist has nothing to erase again.
    """
    records = read(workspace_id)
    if not Workspace.objects.filter(pk=workspace_id).exists():
        return []
    ledger_runs = {
        (case, str(scope.get("run", "")))
        for case, scope in GdprAction.objects.filter(
            workspace_id=workspace_id,
            case_ref__in={record.case_id for record in records},
        ).values_list("case_ref", "scope")
    }
    return [
        record
        for record in records
        if (record.case_id, str(record.run)) not in ledger_runs
    ]


def _finished_runs() -> QuerySet[GdprAction]:
    return GdprAction.objects.filter(
        action=ActionKind.DELETE,
        status__in=(ActionStatus.COMPLETED, ActionStatus.PARTIAL),
        scope__has_key="run",
    )


def is_truncated(workspace_id: str) -> bool:
    """Whether a file lost its end, or is gone: the audit log has more runs.

    The MACs protect a file but not its end; every run carried out had a record.
    """
    rows = _finished_runs().filter(workspace_id=workspace_id)
    runs = {
        (case, str(scope["run"]))
        for case, scope in rows.values_list("case_ref", "scope")
    }
    return bool(
        runs - {(record.case_id, str(record.run)) for record in read(workspace_id)}
    )


def truncated() -> list[str]:
    """Return the workspaces whose file lost its end."""
    homes = _finished_runs().order_by().values_list("workspace_id", flat=True)
    return sorted(home for home in homes.distinct() if is_truncated(home))


def behind() -> dict[str, int]:
    """Return workspace id → how many records wait for a replay."""
    counts = {name: len(unreplayed(name)) for name in workspaces()}
    return {name: count for name, count in counts.items() if count}

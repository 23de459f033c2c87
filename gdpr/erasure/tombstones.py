"""What was erased, kept outside the database: so that a backup brings nobody back.

One file per workspace in ``DATA_DIR/erasures``, one JSON line per record, appended and
synced before anything is destroyed. A line holds ids, fates and keyed digests of names,
never a word; each carries the number after the last one's and a MAC over it and over
the line before. A line that a crash cut off is nobody's: what it announced had not
begun. Keep the folder apart from the backups of the database, and never restore it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.utils import timezone
from filelock import FileLock

from gdpr.models import ActionKind, ActionStatus, GdprAction
from memory.installation import key_files
from memory.journal import append as journal
from memory.models import Workspace
from memory.rules import entries

FOLDER: Final = "erasures"
_FIRST: Final = "0" * 64
_DOMAIN: Final = b"crewship erasures v1\x00"


class Damaged(Exception):
    """The file is not what was written; the message may be shown to an officer."""


@dataclass(frozen=True, slots=True)
class Digest:
    """A name that must not come back: its keyed hash, its kind, how many words."""

    digest: str
    kind: str
    words: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One announcement: of which person what goes; place → [[row id, fate], …]."""

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
    """Return the file of a workspace, there or not."""
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
def _lines(path: Path) -> list[bytes]:
    """Return the whole lines of a file; what a crash cut off is left out."""
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


def _read_chain(path: Path) -> tuple[list[Record], str]:
    records, mac = [], _FIRST
    for number, line in enumerate(_lines(path), start=1):
        record, mac = _checked(line, mac, number)
        records.append(record)
    return records, mac


def read(workspace_id: str) -> list[Record]:
    """Return what was announced, oldest first; raise Damaged when it was changed."""
    return _read_chain(path_of(workspace_id))[0]


def workspaces() -> list[str]:
    """Return the ids of workspaces that have a file."""
    return sorted(path.stem for path in _folder().glob("*.jsonl"))


# ── Writing ──────────────────────────────────────────────────────────────────
def announce(record: Record) -> Record:
    """Write down what is about to go, durably. The same run and rows: once.

    The caller may not destroy anything before this returns.
    """
    with _locked(record.workspace_id) as path:
        records, mac = _read_chain(path)
        for earlier in records:
            if (earlier.case_id, earlier.run) == (record.case_id, record.run):
                if _equal_rows(earlier.rows, record.rows):
                    return earlier
        fields = {**asdict(record), "number": len(records) + 1}
        body = entries.canonical(fields)
        line = json.dumps({"body": body, "mac": _mac(mac, body)}) + "\n"
        _append(path, line.encode())
    return Record(**{**fields, "aliases": record.aliases})


def _equal_rows(left_rows: object, right_rows: object) -> bool:
    return entries.canonical({"r": left_rows}) == entries.canonical({"r": right_rows})


def _append(path: Path, line: bytes) -> None:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        length = sum(len(record_line) + 1 for record_line in _lines(path))
        # What a crash cut off would spoil this line, so it goes first.
        os.ftruncate(handle, length)
        os.lseek(handle, length, os.SEEK_SET)
        while line:
            line = line[os.write(handle, line) :]
        os.fsync(handle)
    finally:
        os.close(handle)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def now() -> str:
    """Return the moment, as records tell it."""
    return journal.stamp(timezone.now())


def sign_again() -> int:
    """Sign every record as it stands, because the key it was signed with is lost.

    Returns how many there are. What was changed before cannot be told any more, and
    the names' digests in them no longer match anybody.
    """
    count = 0
    for workspace_id in workspaces():
        with _locked(workspace_id) as path:
            lines, mac = [], _FIRST
            for line in _lines(path):
                body = str(json.loads(line)["body"])
                mac = _mac(mac, body)
                lines.append(json.dumps({"body": body, "mac": mac}) + "\n")
            key_files.replace(path, "".join(lines))
            count += len(lines)
    return count


# ── Comparing ────────────────────────────────────────────────────────────────
def unreplayed(workspace_id: str) -> list[Record]:
    """Return the records the database knows nothing of: it is older than they are.

    Every run has a row in the ledger before its record is written, so a record without
    one means that a backup was restored. Raise Damaged when the file was changed. In a
    workspace that is not there nobody can have come back.
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


def truncated() -> list[str]:
    """Return the workspaces whose file ends too early: the database knows more.

    The MACs hold a file together but not its end; what was carried out had a record.
    """
    finished = GdprAction.objects.filter(
        action=ActionKind.DELETE,
        status__in=(ActionStatus.COMPLETED, ActionStatus.PARTIAL),
        scope__has_key="run",
    )
    runs_by_workspace: dict[str, set[tuple[str, str]]] = {}
    for home, case, scope in finished.values_list("workspace_id", "case_ref", "scope"):
        runs_by_workspace.setdefault(home, set()).add((case, str(scope["run"])))
    return sorted(
        home
        for home, runs in runs_by_workspace.items()
        if runs - {(record.case_id, str(record.run)) for record in read(home)}
    )


def behind() -> dict[str, int]:
    """Return workspace id → how many records wait for a replay."""
    counts = {name: len(unreplayed(name)) for name in workspaces()}
    return {name: count for name, count in counts.items() if count}

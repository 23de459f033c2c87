"""Which workspaces are not served: their database is older than erasures in them.

The erasures file outside the database says who was erased; the audit log inside says
which of it the database knows. The two are compared when the file or the database's
mark of it changes. Otherwise a look costs two queries and one ``stat`` per file, where
machines share no disk four queries, at most every ``CHECK_SECONDS`` in each process,
and a request asks a dict.
"""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import structlog
from django.db import DatabaseError, connection

from gdpr.erasure import restored_caches, shared_tombstones, tombstones
from gdpr.models import ErasureMark
from memory.installation import restore_mark
from memory.models import Workspace
from memory.rules import errors
from memory.rules.translation import gettext_noop

# How long an answer counts. A restored database is noticed within this time.
CHECK_SECONDS = 2.0
RETRY_SECONDS: Final = 10
TAIL_LOST: Final = "The erasures file knows less than the database: its end was lost."
REPLACED: Final = (
    "The database file was replaced while the server ran. Restart the server: what is"
    " written now would be lost."
)
log = structlog.get_logger(__name__)


class ErasuresWait(errors.Unavailable):
    """A restored workspace, of which people have to be erased again first."""

    code, title = "erasures_wait", gettext_noop("Being put in order after a restore")
    sentence = gettext_noop(
        "A backup was restored that is older than some erasures. The erasures made"
        " after this backup are being carried out again: {count} to go. Until then"
        " nothing of this workspace is shown or changed. Try again in a minute."
    )


class ErasuresUnknown(errors.Unavailable):
    """Whether erasures are missing cannot be told."""

    code, title = "erasures_unknown", gettext_noop("Not served after a restore")
    sentence = gettext_noop(
        "The erasures file of this workspace is damaged, so that nobody can tell"
        " whether the database lacks an erasure. An operator has to bring the file"
        " back. Until then nothing of this workspace is shown or changed."
    )


class DatabaseReplaced(errors.Outage):
    """The open database file is not the one under its name any more."""

    code = "database_replaced"
    sentence = gettext_noop(
        "The database file was replaced while the server ran. An operator has to"
        " restart the server. Nothing was changed."
    )


@dataclass(frozen=True, slots=True)
class Gap:
    """What a workspace's database and erasures file lack of each other.

    ``count`` erasures have to be carried out again; ``fault`` says why that cannot be
    known; with ``is_tail_lost`` the file is the one that lacks something. Where nothing
    is missing and only the database's mark is old, ``is_unmarked``.
    """

    count: int = 0
    fault: str = ""
    is_tail_lost: bool = False
    is_unmarked: bool = False

    @property
    def is_served(self) -> bool:
        return not self.count and not self.fault


# What a comparison depends on: the file's signature, and the database's mark.
_Key = tuple[shared_tombstones.Signature | None, str | None]


@dataclass(slots=True)
class _State:
    """What this process last saw."""

    gaps: dict[str, Gap] = field(default_factory=dict)
    compared: dict[str, tuple[_Key, Gap]] = field(default_factory=dict)
    restores: dict[str, str | None] = field(default_factory=dict)
    checked_at: float | None = None
    # An outage is logged when it begins.
    is_unknown: bool = False
    database: tuple[str, int, int] | None = None
    is_replaced: bool = False
    is_restoring: bool = False


_state = _State()
_lock = threading.RLock()


def forget() -> None:
    """Forget what was seen; the next look compares again."""
    global _state
    with _lock:
        _state = _State(database=_state.database, restores=_state.restores)


# ── Looking ──────────────────────────────────────────────────────────────────
def _compare(workspace_id: str) -> Gap:
    if fault := shared_tombstones.fault(workspace_id):
        return Gap(fault=fault)
    try:
        records = tombstones.unreplayed(workspace_id)
        count = len({(record.case_id, record.run) for record in records})
        return Gap(count, is_tail_lost=tombstones.is_truncated(workspace_id))
    except tombstones.Damaged as error:
        return Gap(fault=str(error))


def _gap(workspace_id: str) -> Gap:
    gap, end = _compare(workspace_id), shared_tombstones.end(workspace_id)
    return Gap(is_unmarked=True) if gap == Gap() and end else gap


def _look() -> None:
    """Compare where a file or a mark changed since the last look."""
    columns = ("pk", "erasure_mark__end", "erasure_mark__restore")
    rows = list(Workspace.objects.order_by().values_list(*columns))
    shared_tombstones.mirror()
    files, compared = shared_tombstones.signatures(), {}
    for workspace_id, mark, _ in rows:
        key = (files.get(workspace_id), mark)
        before = _state.compared.get(workspace_id)
        if before is not None and before[0] == key:
            compared[workspace_id] = before
        elif mark and mark == shared_tombstones.end(workspace_id):
            compared[workspace_id] = (key, Gap())
        else:
            compared[workspace_id] = (key, _gap(workspace_id))
    gaps = {home: gap for home, (_, gap) in compared.items() if gap != Gap()}
    restores = {workspace_id: restore for workspace_id, _, restore in rows}
    _drop_caches(gaps, restores)
    _state.compared, _state.gaps, _state.restores = compared, gaps, restores


def _drop_caches(gaps: dict[str, Gap], restores: dict[str, str | None]) -> None:
    """Drop what this process cached before a restore that it did not know of."""
    for workspace_id, restore in restores.items():
        gap = gaps.get(workspace_id, Gap())
        is_new = gap.count and not _state.gaps.get(workspace_id, Gap()).count
        before = _state.restores.get(workspace_id, restore)
        if is_new or restore != before:
            restored_caches.drop(workspace_id)


def _database_file() -> tuple[str, int, int] | None:
    """Return name, device and inode of SQLite's file; None where there is none."""
    if connection.vendor != "sqlite":
        return None
    path = Path(str(connection.settings_dict["NAME"]))
    try:
        facts = path.stat()
    except OSError:
        # One in memory has no file.
        return (str(path), 0, 0) if path.is_absolute() else None
    return str(path), facts.st_dev, facts.st_ino


def _watch_database() -> None:
    """Note that the file which this process has open was replaced."""
    file = _database_file()
    if _state.database is None or file is None or file[0] != _state.database[0]:
        _state.database, _state.is_replaced = file, False
    else:
        _state.is_replaced = file != _state.database


def _is_fresh() -> bool:
    at = _state.checked_at
    return at is not None and 0 <= time.monotonic() - at < CHECK_SECONDS


def _refresh() -> None:
    # While another thread looks, the previous answer is used.
    if _is_fresh() or not _lock.acquire(blocking=_state.checked_at is None):
        return
    try:
        if not _is_fresh():
            _watch_database()
            _state.is_restoring = restore_mark.problem() is not None
            if not _state.is_restoring:
                _look()
            _state.checked_at, _state.is_unknown = time.monotonic(), False
    except (DatabaseError, OSError) as error:
        if _state.checked_at is None:
            raise
        if not _state.is_unknown:
            log.warning("erasures_not_compared", error=type(error).__name__)
        _state.is_unknown = True
    finally:
        _lock.release()


# ── Public ───────────────────────────────────────────────────────────────────
def gaps() -> dict[str, Gap]:
    """Return workspace id → what is missing, of those where something is."""
    _refresh()
    return _state.gaps


def refusal(workspace_id: str = "") -> errors.Unavailable | None:
    """Return why a workspace is not served, None when it is; "" asks for all."""
    _refresh()
    if _state.is_replaced:
        return DatabaseReplaced()
    if _state.is_restoring:
        return restore_mark.RestoreUnfinished(retry_after=RETRY_SECONDS)
    if not _state.gaps:
        return None
    ids = [workspace_id] if workspace_id else list(_state.gaps)
    closed = [gap for gap in map(_state.gaps.get, ids) if gap and not gap.is_served]
    if not closed:
        return None
    if any(gap.fault for gap in closed):
        return ErasuresUnknown(retry_after=RETRY_SECONDS)
    count = sum(gap.count for gap in closed)
    return ErasuresWait(count=count, retry_after=RETRY_SECONDS)


def is_replaced() -> bool:
    """Whether the open database file is not the one under its name any more."""
    _refresh()
    return _state.is_replaced


def note_restore(workspace_id: str) -> None:
    """Tell every process to drop its caches; inside the transaction of a replay."""
    ErasureMark.objects.update_or_create(
        workspace_id=workspace_id, defaults={"restore": secrets.token_hex(8)}
    )


def settle() -> None:
    """Mark in the database which erasures files it knows to their end."""
    marks = dict(ErasureMark.objects.values_list("workspace_id", "end"))
    for workspace_id in tombstones.workspaces():
        end = shared_tombstones.end(workspace_id)
        if not end or marks.get(workspace_id) == end:
            continue
        if not Workspace.objects.filter(pk=workspace_id).exists():
            continue
        if _compare(workspace_id) == Gap():
            ErasureMark.objects.update_or_create(
                workspace_id=workspace_id, defaults={"end": end}
            )
    forget()

"""The database that a recall reads: the primary, or a replica that has caught up.

Only what ranks is read from a replica. The entries of an answer come from the primary,
so that nothing erased or restricted a moment ago is shown. Each question compares the
marks of its workspace in both databases: where the replica lacks any of its entries or
vectors, the primary is read, so that what was just written is found. A replica that is
a standby no longer is read for nothing: it goes its own way.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Final, TypeVar

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import errors

Result = TypeVar("Result")
PRIMARY: Final = "default"
REPLICA: Final = "replica"
# How long a replica that failed is left alone.
RETRY_SECONDS: Final = 15.0
BEHIND_BYTES: Final = 64 * 2**20
AWAY: Final = "The read replica does not answer: recall reads the primary database."
PROMOTED: Final = (
    "The read replica is no standby, or was promoted: recall reads the primary"
    " database."
)
BEHIND: Final = "The read replica is far behind: recall reads the primary database."
IS_STANDBY: Final = "pg_is_in_recovery()"
# Values that become others with what recall reads of a workspace, as statements with
# the workspace as their parameter. Packages above add their own. The hash of the last
# entry, because another journal may have as many.
marks: list[str] = [
    (
        "SELECT COALESCE(max(entry_hash), '') FROM journal_chain_heads"
        " WHERE workspace_id = %s"
    ),
]
# The replica cancelled a statement, to go on replaying: it is there all the same.
_CONFLICTS: Final = (errors.SerializationFailure, errors.DeadlockDetected)
log = structlog.get_logger(__name__)


class _Question:
    """One question: its workspace, and the database that its first read chose."""

    def __init__(self, workspace_id: str) -> None:
        self.workspace_id = workspace_id
        self.alias: str | None = None


class _Away:
    """Until when the replica is left alone, in this process."""

    def __init__(self) -> None:
        self._until = 0.0
        self._lock = threading.Lock()

    def note(self) -> None:
        """Leave the replica alone for a while."""
        with self._lock:
            self._until = time.monotonic() + RETRY_SECONDS

    def end(self) -> None:
        """Ask the replica again: it answered."""
        with self._lock:
            self._until = 0.0

    @property
    def is_noted(self) -> bool:
        with self._lock:
            return time.monotonic() < self._until


away = _Away()
_question: ContextVar[_Question | None] = ContextVar("recall_question", default=None)


def is_configured() -> bool:
    """Whether this installation has a replica."""
    return REPLICA in settings.DATABASES


def connection() -> BaseDatabaseWrapper:
    """Return the connection that ranking reads from; the primary's outside ``ask``."""
    question = _question.get()
    if question is None:
        return connections[PRIMARY]
    if question.alias is None:
        question.alias = _choice(question.workspace_id)
    return connections[question.alias]


def ask(workspace_id: str, act: Callable[[], Result]) -> Result:
    """Return what ``act`` reads for one question, from one database.

    It is chosen at the first read, after what the question itself writes. When the
    replica fails meanwhile, ``act`` is done again with the primary.
    """
    if not is_configured():
        return act()
    question = _Question(workspace_id)
    token = _question.set(question)
    try:
        return act()
    except (DatabaseError, InterfaceError) as error:
        if question.alias != REPLICA:
            raise
        _note(error)
        question.alias = PRIMARY
        return act()
    finally:
        _question.reset(token)


def _note(error: DatabaseError | InterfaceError) -> None:
    """Leave the replica alone where it does not answer.

    It may also have cancelled a statement, or lack a table that was made a moment ago.
    """
    is_conflict = isinstance(error.__cause__, _CONFLICTS)
    if isinstance(error, OperationalError | InterfaceError) and not is_conflict:
        _note_away()
    else:
        log.info("replica_refused", error=type(error.__cause__).__name__)


def _choice(workspace_id: str) -> str:
    """Return the database to read: the replica's only when it lacks nothing."""
    # What an open transaction wrote is known to the primary alone.
    if away.is_noted or connections[PRIMARY].in_atomic_block:
        return PRIMARY
    try:
        is_standby, *replica_marks = _read(REPLICA, workspace_id, [IS_STANDBY, *marks])
    except (DatabaseError, InterfaceError) as error:
        _note(error)
        return PRIMARY
    if not is_standby:
        away.note()
        log.warning("replica_promoted", seconds=RETRY_SECONDS)
        return PRIMARY
    is_same = replica_marks == _read(PRIMARY, workspace_id, marks)
    return REPLICA if is_same else PRIMARY


def _read(alias: str, workspace_id: str, columns: Sequence[str]) -> list[object]:
    sql = f"SELECT {', '.join(f'({column})' for column in columns)}"
    with connections[alias].cursor() as cursor:
        cursor.execute(sql, [workspace_id] * sql.count("%s"))
        return list(cursor.fetchone())


def _note_away() -> None:
    away.note()
    connections[REPLICA].close()
    log.warning("replica_away", seconds=RETRY_SECONDS)


def problem() -> str | None:
    """Return why recall reads the primary although there is a replica, None if not."""
    if not is_configured():
        return None
    try:
        with connections[REPLICA].cursor() as cursor:
            cursor.execute(f"SELECT {IS_STANDBY}, pg_last_wal_replay_lsn()::text")
            is_standby, replayed = cursor.fetchone()
    except (DatabaseError, InterfaceError):
        _note_away()
        return AWAY
    if not is_standby:
        return PROMOTED
    away.end()
    if replayed is None:
        # A standby of another kind than the server's own: the marks alone decide.
        return None
    with connections[PRIMARY].cursor() as cursor:
        cursor.execute("SELECT pg_current_wal_lsn() - %s::pg_lsn", [replayed])
        [distance] = cursor.fetchone()
    return BEHIND if distance > BEHIND_BYTES else None

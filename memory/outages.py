"""Translate failures of the database or the disk into errors for the caller.

There are three: disk full (507), no answer (503), damaged (503). Any other exception is
a programming error and is not translated.
"""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from typing import Final

from django.conf import settings
from django.db import (
    DatabaseError,
    DataError,
    IntegrityError,
    InterfaceError,
    OperationalError,
)

from memory.rules import errors
from memory.rules.translation import gettext, gettext_noop

# With less free space, an I/O error of SQLite counts as a full disk.
NO_ROOM_BYTES: Final = 1024 * 1024
RETRY_SECONDS: Final = 5
REFUSED_SECONDS: Final = 60.0
# PostgreSQL: disk full; data, index corrupted.
_FULL_STATES: Final = frozenset({"53100"})
_DAMAGED_STATES: Final = frozenset({"XX001", "XX002"})
_DAMAGED_CODES: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_FULL_WORDS: Final = ("database or disk is full", "no space left on device")
_DAMAGED_WORDS: Final = ("disk image is malformed", "file is not a database")

# The exceptions that ``meaning`` can translate.
KINDS: Final = (DatabaseError, InterfaceError, OSError)
DAMAGED: Final = gettext_noop(
    "The database is damaged: a page cannot be read. Stop the server, keep a copy of"
    " the file, restore the last backup and run manage.py gdpr_replay."
)
REFUSED: Final = (
    "A request was refused in the last minute because a disk is full, that of the"
    " database or of the data folder. Make room."
)
UNAVAILABLE: Final = gettext_noop(
    "The database does not answer. Nothing was changed; try again."
)


class Damage:
    """Whether a part of the database was found damaged since the last good check."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    def note(self) -> None:
        """Record that damage was found."""
        with self._lock:
            self._count += 1

    def clear(self) -> None:
        """Reset: a check of the whole database found no damage."""
        with self._lock:
            self._count = 0

    @property
    def is_noted(self) -> bool:
        return self._count > 0


damage = Damage()


class Refusal:
    """Whether a request was refused a moment ago for want of room, in this process.

    The disk of a PostgreSQL server cannot be looked at from here.
    """

    def __init__(self) -> None:
        self._at: float | None = None

    def note(self) -> None:
        self._at = time.monotonic()

    def clear(self) -> None:
        self._at = None

    @property
    def is_recent(self) -> bool:
        at = self._at
        return at is not None and time.monotonic() - at < REFUSED_SECONDS


refusal = Refusal()


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what it came from: Django wraps the driver's own."""
    for _ in range(5):
        if error is None:
            return
        yield error
        error = error.__cause__


def _is_full(error: BaseException) -> bool:
    if isinstance(error, OSError):
        return error.errno in errors.NO_ROOM
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None and code & 0xFF == sqlite3.SQLITE_FULL:
        return True
    if code is not None and code & 0xFF == sqlite3.SQLITE_IOERR:
        try:
            return shutil.disk_usage(settings.DATA_DIR).free < NO_ROOM_BYTES
        except OSError:
            return False
    return getattr(error, "sqlstate", None) in _FULL_STATES or _has_message(
        error, _FULL_WORDS
    )


def _is_damaged(error: BaseException) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None and code & 0xFF in _DAMAGED_CODES:
        return True
    state = getattr(error, "sqlstate", None)
    return state in _DAMAGED_STATES or _has_message(error, _DAMAGED_WORDS)


def _has_message(error: BaseException, words: tuple[str, ...]) -> bool:
    text = str(error).lower() if isinstance(error, DatabaseError) else ""
    return any(word in text for word in words)


def _is_unavailable(error: BaseException) -> bool:
    """Whether the database did not answer, or not in time.

    SQLite reports a missing table as an operational error too: not an outage.
    """
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    codes = (getattr(part, "sqlite_errorcode", None) for part in _chain(error))
    if any(code is not None and code & 0xFF == sqlite3.SQLITE_ERROR for code in codes):
        return False
    return not str(error).startswith(("no such", "near "))


def meaning(error: BaseException) -> errors.Outage | None:
    """Return the outage that an exception stands for, None when it is none."""
    if isinstance(error, errors.AppError | IntegrityError | DataError):
        return None
    if not isinstance(error, KINDS):
        return None
    if any(_is_full(part) for part in _chain(error)):
        refusal.note()
        return errors.StorageFull()
    if any(_is_damaged(part) for part in _chain(error)):
        damage.note()
        return errors.Outage(gettext(DAMAGED), code="database_damaged")
    if _is_unavailable(error):
        wait = RETRY_SECONDS
        detail = gettext(UNAVAILABLE)
        return errors.Outage(detail, code="database_unavailable", retry_after=wait)
    return None

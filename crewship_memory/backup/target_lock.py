"""The lock of a PostgreSQL database into which something is being restored.

Machines with data folders of their own restore into one database: a lock in a folder
does not keep them apart. This one belongs to a connection of its own, because the
commands between begin and end close theirs, and ends with it. It is held by a
transaction, which a pooler in any mode leaves its session; one without a snapshot keeps
no vacuum from its work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql

from crewship_memory.backup import snapshot
from memory.rules import errors
from memory.stored_files.advisory_locks import number_of

NAME: Final = "restore"
# Before PostgreSQL 17 there is no such setting.
_NO_TIMEOUT: Final = (
    "SELECT set_config(name, '0', true) FROM pg_settings"
    " WHERE name = 'transaction_timeout'"
)
# It says nothing for as long as a restore takes, and goes soon after its machine.
_SETTINGS: Final = (
    "SET LOCAL idle_in_transaction_session_timeout = 0",
    _NO_TIMEOUT,
    "SET LOCAL tcp_keepalives_idle = 30",
    "SET LOCAL tcp_keepalives_interval = 10",
    "SET LOCAL tcp_keepalives_count = 3",
)
Check = Callable[[], None]


class Busy(errors.Conflict):
    """Another process restores into the same database."""

    code = "restore_runs"
    sentence = "Another restore, or a move, into this database runs."


class Lost(errors.Unavailable):
    """Nobody was kept away any more: the work ends, and can be done again."""

    code = "restore_lock_lost"
    sentence = (
        "The connection that kept others away from this database broke: run the"
        " command again."
    )


@contextmanager
def held(database: BaseDatabaseWrapper) -> Iterator[Check]:
    """Keep other restores away; raise Busy. SQLite is in a data folder, locked so.

    What is yielded raises Lost once the lock is not held any more.
    """
    if database.vendor != "postgresql":
        yield lambda: None
        return
    with snapshot.connected(database) as own:
        for statement in _SETTINGS:
            own.execute(statement)
        # Without parameters: with some the statement's portal stays open, and with it a
        # snapshot, for whose end an index that is made concurrently waits.
        take = sql.SQL("SELECT pg_try_advisory_xact_lock({})").format(number_of(NAME))
        if own.execute(take).fetchone() != (True,):
            raise Busy
        yield lambda: _require(own)


def _require(own: psycopg.Connection) -> None:
    try:
        own.execute("SELECT 1")
    except psycopg.OperationalError:
        raise Lost from None

"""Django's PostgreSQL backend, quick to say that the server is away.

Django hands out a pooled connection as it lies there, and waits for one as long as the
pool is told to. After a restart of the server that is an error for each connection in
the pool, and during an outage every request would wait for ten seconds, those of the
probes too. Here a connection that the server has closed is replaced before it is used,
and where none is free the server is asked first: what cannot be had fails at once. A
server that has no connection left is not away: then the pool's are waited for.
"""

from __future__ import annotations

import select
import threading
import time
from typing import Any, Final

import psycopg
from django.db.backends.postgresql import base
from psycopg import pq
from psycopg.conninfo import make_conninfo
from psycopg_pool import ConnectionPool

# After an attempt to connect that failed, all others fail without one for so long.
PAUSE_SECONDS: Final = 0.5
# What Django gives psycopg itself.
_NOT_OF_THE_SERVER: Final = {"context", "cursor_factory", "prepare_threshold"}


class _Outage:
    """Until when, in this process, nobody tries to connect."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until = 0.0
        self._has_worked = False

    def note_success(self) -> None:
        """Note that there was a connection: name and password are right."""
        self._has_worked = True

    def probe(self, conn_params: dict[str, Any]) -> None:
        """Connect once and close; raise OperationalError when that fails.

        One thread tries at a time. The others go on: where the server is away, they
        are told so by what it found.
        """
        if time.monotonic() < self._until:
            message = "the server did not accept a connection a moment ago"
            raise psycopg.OperationalError(message)
        with self._lock:
            if time.monotonic() < self._until:
                message = "the server did not accept a connection just now"
                raise psycopg.OperationalError(message)
            try:
                psycopg.connect(**conn_params).close()
            except psycopg.Error as error:
                if self._has_worked and _is_up(error, conn_params):
                    # It has as many as it takes, and the pool gets one back soon.
                    return
                self._until = time.monotonic() + PAUSE_SECONDS
                raise


def _is_up(error: psycopg.Error, conn_params: dict[str, Any]) -> bool:
    """Whether a server that refused a connection takes others all the same."""
    if isinstance(error, psycopg.errors.ConnectionTimeout):
        return False
    names = conn_params.keys() - _NOT_OF_THE_SERVER
    conninfo = make_conninfo(**{name: conn_params[name] for name in names})
    return pq.PGconn.ping(conninfo.encode()) == pq.Ping.OK


outage = _Outage()


def _has_news(connection: psycopg.Connection[Any]) -> bool:
    """Whether the server sent something while idle: most likely its farewell."""
    if connection.closed:
        return True
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection to PostgreSQL."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Return a connection that works, or raise OperationalError soon."""
        pool = self.pool
        if pool is None:
            return super().get_new_connection(conn_params)
        for _ in range(2):
            if not pool.get_stats().get("pool_available"):
                outage.probe(conn_params)
            connection = super().get_new_connection(conn_params)
            if not _has_news(connection) or _answers(connection):
                outage.note_success()
                return connection
            # Those beside it are as old.
            pool.putconn(connection)
            pool.drain()
        return super().get_new_connection(conn_params)


def _answers(connection: psycopg.Connection[Any]) -> bool:
    try:
        ConnectionPool.check_connection(connection)
    except psycopg.Error:
        return False
    return True

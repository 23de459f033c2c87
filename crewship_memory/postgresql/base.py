"""Django's PostgreSQL backend, quick to say that the server is away.

Django hands out a pooled connection as it lies there, and waits for one as long as the
pool is told to. After a restart of the server that is an error for each connection in
the pool, and during an outage every request would wait for ten seconds, those of the
probes too. Here a connection that the server has closed is replaced before it is used,
and where none is free the server is asked first: what cannot be had fails at once.
"""

from __future__ import annotations

import select
import threading
import time
from typing import Any, Final

import psycopg
from django.db.backends.postgresql import base
from psycopg_pool import ConnectionPool

# After an attempt to connect that failed, all others fail without one for so long.
PAUSE_SECONDS: Final = 0.5


class _Outage:
    """Until when, in this process, nobody tries to connect."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until = 0.0

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
            except psycopg.Error:
                self._until = time.monotonic() + PAUSE_SECONDS
                raise


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

"""Connections of the pool: replaced after a restart, not waited for in an outage."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection

from crewship_memory import doctor
from crewship_memory.postgresql import base, pooler
from crewship_memory.postgresql.base import DatabaseWrapper
from crewship_memory.postgresql.pooler import Pooler
from tests.processes import free_port

pytestmark = [pytest.mark.postgres, pytest.mark.django_db]


def wrapper(**changes: Any) -> DatabaseWrapper:
    settings_dict = copy.deepcopy(connection.settings_dict) | changes
    options = {"min_size": 2, "max_size": 2, "timeout": 10.0, "reconnect_timeout": 1.0}
    settings_dict["OPTIONS"] = {"pool": options, "connect_timeout": 5}
    return DatabaseWrapper(settings_dict, alias="test_postgresql")


@pytest.fixture(autouse=True)
def _own_pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(base, "outage", base._Outage())
    yield
    wrapper().close_pool()


def test_connections_that_the_server_closed_are_replaced_before_they_are_used() -> None:
    database, pids = wrapper(), set[int]()
    for _ in range(3):
        with database.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            pids.add(cursor.fetchone()[0])
        database.close()
        assert database.pool is not None
        database.pool.wait()
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_clear_snapshot()")
            cursor.execute(
                "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid != pg_backend_pid()"
            )
    assert len(pids) == 3


def test_a_server_that_is_away_is_asked_once_and_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attempts: list[int] = []
    connect = psycopg.connect

    def counted(*args: Any, **options: Any) -> Any:
        attempts.append(1)
        return connect(*args, **options)

    monkeypatch.setattr(psycopg, "connect", counted)
    monkeypatch.setattr(base, "PAUSE_SECONDS", 1_000.0)
    database = wrapper(HOST="127.0.0.1", PORT=free_port())

    def waits(*_: Any, **__: Any) -> Any:
        pytest.fail("It waits for a connection.")

    assert database.pool is not None
    monkeypatch.setattr(database.pool, "getconn", waits)
    for _ in range(3):
        with pytest.raises(OperationalError):
            database.ensure_connection()
    assert attempts == [1]


def test_a_server_that_refuses_one_more_is_not_away_once_it_took_one() -> None:
    # As with too many connections, the server answers, and not that it starts or ends.
    stranger = wrapper(NAME="postgres", USER="nobody_has_this_name")
    params = stranger.get_connection_params()
    with pytest.raises(psycopg.OperationalError, match="nobody_has_this_name"):
        base.outage.probe(params)
    base.outage._until = 0.0
    database = wrapper()
    database.ensure_connection()
    database.close()
    base.outage.probe(params)


@pytest.mark.parametrize(
    ("session", "state", "level"),
    [
        (None, Pooler.NONE, "ok"),
        (lambda _: 7, Pooler.SHARES, "fail"),
        (id, Pooler.KEEPS, "ok"),
    ],
)
def test_a_pooler_that_shares_sessions_is_seen(
    monkeypatch: pytest.MonkeyPatch, session: Any, state: Pooler, level: str
) -> None:
    """Its greeting has another number than the session that answers."""
    if session is not None:
        monkeypatch.setattr(pooler, "_pid", session)
    (finding,) = [f for f in doctor.features() if f.check == "pooler"]
    assert (finding.message, finding.level) == (state.value, level)

"""A recall ranks from the read replica where that has everything, and says when not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest
from django.db import (
    InterfaceError,
    OperationalError,
    ProgrammingError,
    connections,
    transaction,
)

from crewship_memory import healthz
from episodic.recall import ranking
from episodic.recall import search as recall
from episodic.recall.request import Request
from memory import recall_database
from memory.recall_database import PRIMARY, REPLICA
from tests.project.source import ROOT
from tests.world import World

Test = TypeVar("Test", bound=Callable[..., Any])


def on_postgres(test: Test) -> Test:
    """Mark a test that needs two connections to one database."""
    marked: Test = pytest.mark.postgres(pytest.mark.django_db(transaction=True)(test))
    return marked


@pytest.fixture
def replica(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A second alias of the test database, as TEST MIRROR makes one."""
    mirror: Any = connections[PRIMARY].copy(alias=REPLICA)
    # Not among the settings: of those Django lets a test use none but its own.
    monkeypatch.setattr(recall_database, "is_configured", lambda: True)
    monkeypatch.setattr(recall_database, "IS_STANDBY", "TRUE")
    connections[REPLICA] = mirror
    recall_database.away.end()
    yield
    mirror.close()
    mirror.close_pool()
    del connections[REPLICA]
    recall_database.away.end()


@pytest.fixture
def read_from(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The aliases whose connections ranking was given."""
    aliases: list[str] = []
    real = recall_database.connection

    def noted() -> object:
        connection = real()
        aliases.append(connection.alias)
        return connection

    monkeypatch.setattr(recall_database, "connection", noted)
    return aliases


def _indexed(world: World, read_from: list[str]) -> None:
    """Index an entry; what that reads of the primary does not matter."""
    world.indexed("refund one")
    read_from.clear()


def _marks(world: World) -> list[object]:
    return recall_database._read(REPLICA, world.acme.id, recall_database.marks)


def _fails_on_the_replica(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Let a ranking that reads the replica end with an error."""
    real = ranking.fuse

    def fuse(*args: object) -> object:
        if recall_database.connection().alias == REPLICA:
            raise error
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(ranking, "fuse", fuse)


def _ask(world: World) -> list[str]:
    answer = recall.search(Request(query="refund"), by=world.actor("ada"))
    return [hit.entry.summary for hit in answer.hits]


@on_postgres
@pytest.mark.usefixtures("replica")
def test_a_recall_reads_it(world: World, read_from: list[str]) -> None:
    _indexed(world, read_from)
    assert _ask(world) == ["refund one"]
    assert set(read_from) == {REPLICA}


@on_postgres
@pytest.mark.usefixtures("replica")
def test_what_is_not_there_yet_is_read_from_the_primary(
    world: World,
    read_from: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _indexed(world, read_from)
    real = recall_database._read

    def behind(alias: str, *args: Any) -> list[object]:
        values = real(alias, *args)
        return values if alias == PRIMARY else [True, "another entry", *values[2:]]

    monkeypatch.setattr(recall_database, "_read", behind)
    assert _ask(world) == ["refund one"]
    assert set(read_from) == {PRIMARY}


@on_postgres
@pytest.mark.usefixtures("replica")
def test_every_vector_moves_a_mark(world: World) -> None:
    marks = [_marks(world)]
    row = world.indexed("refund one")
    marks.append(_marks(world))
    row.embedding.delete()
    marks.append(_marks(world))
    assert len(set(map(tuple, marks))) == 3


@on_postgres
@pytest.mark.usefixtures("replica")
def test_a_vector_that_is_committed_late_moves_a_mark_too(world: World) -> None:
    """Two sweeps take numbers in one order and commit in the other."""
    marks = []
    for number in (1_000_002, 1_000_001):
        with connections[PRIMARY].cursor() as cursor:
            cursor.execute(
                "INSERT INTO journal_vector_counts (id, workspace_id, model, dim,"
                " entry_type, added) OVERRIDING SYSTEM VALUE"
                " VALUES (%s, %s, 'm', 1, 'memory.recorded', 1)",
                [number, world.acme.id],
            )
        marks.append(_marks(world))
    assert marks[0] != marks[1]


@on_postgres
@pytest.mark.usefixtures("replica")
def test_an_open_transaction_reads_its_own(world: World, read_from: list[str]) -> None:
    with transaction.atomic():
        world.indexed("refund one")
        assert _ask(world) == ["refund one"]
    assert set(read_from) == {PRIMARY}


@on_postgres
@pytest.mark.usefixtures("replica")
def test_one_that_fails_meanwhile_is_left_alone(
    world: World,
    read_from: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _indexed(world, read_from)
    _fails_on_the_replica(monkeypatch, OperationalError("gone"))
    assert _ask(world) == ["refund one"]
    assert read_from[0] == REPLICA
    read_from.clear()
    assert _ask(world) == ["refund one"]
    assert set(read_from) == {PRIMARY}


@on_postgres
@pytest.mark.usefixtures("replica")
@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_one_that_is_away_shows_in_readyz_alone(
    world: World, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    world.indexed("refund one")

    def unreachable(*_: object, **__: object) -> None:
        raise error("no route")

    monkeypatch.setattr(connections[REPLICA], "cursor", unreachable)
    assert _ask(world) == ["refund one"]
    with pytest.raises(healthz.Degraded, match="does not answer"):
        healthz.check_replica()


@on_postgres
@pytest.mark.usefixtures("replica")
def test_one_that_is_no_standby_is_not_read(
    world: World, read_from: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that was promoted: it writes itself, and has the same marks at first."""
    _indexed(world, read_from)
    monkeypatch.setattr(recall_database, "IS_STANDBY", "pg_is_in_recovery()")
    assert _ask(world) == ["refund one"]
    assert set(read_from) == {PRIMARY}
    with pytest.raises(healthz.Degraded, match="was promoted"):
        healthz.check_replica()


@on_postgres
@pytest.mark.usefixtures("replica")
def test_one_without_a_new_table_yet_costs_no_answer(
    world: World, read_from: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _indexed(world, read_from)
    _fails_on_the_replica(monkeypatch, ProgrammingError("relation does not exist"))
    assert _ask(world) == ["refund one"]
    assert not recall_database.away.is_noted


@on_postgres
@pytest.mark.usefixtures("replica")
def test_one_that_answers_again_is_asked_again(
    world: World, read_from: list[str]
) -> None:
    world.indexed("refund one")
    recall_database.away.note()
    _ask(world)
    healthz.check_replica()
    assert set(read_from) == {PRIMARY}
    read_from.clear()
    _ask(world)
    assert set(read_from) == {REPLICA}


def test_without_one_nothing_is_compared(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall_database, "_read", None)
    world.indexed("refund one")
    assert _ask(world) == ["refund one"]
    healthz.check_replica()


_DATABASES = (
    "import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'crewship_memory.settings';"
    "from django.conf import settings as s;"
    "own, other = (s.DATABASES[n] for n in ('default', 'replica'));"
    "print(other['HOST'], other['TEST']['MIRROR'],"
    " *(d['OPTIONS'].get('sslmode') for d in (own, other)),"
    " own['OPTIONS']['tcp_user_timeout'])"
)


@pytest.mark.parametrize(
    ("primary", "answer"),
    [
        # What an address says itself holds.
        ("postgres://a@one/x?sslmode=require", "two default require prefer 10000"),
        ("sqlite:////tmp/x.sqlite3", "must name a replica of the PostgreSQL database"),
    ],
)
def test_the_setting_makes_an_alias(primary: str, answer: str) -> None:
    process = subprocess.run(
        [sys.executable, "-c", _DATABASES],
        cwd=ROOT,
        env={
            **os.environ,
            "DATABASE_URL": primary,
            "CREWSHIP_REPLICA_URL": "postgres://a@two/x?sslmode=prefer",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer in process.stdout + process.stderr

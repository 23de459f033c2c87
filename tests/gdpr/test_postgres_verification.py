"""PostgreSQL: what DELETE leaves in the server's files, and how it is removed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

from gdpr import erasure
from gdpr.models import CaseState
from gdpr.verification import postgres, server_files
from tests import waiting
from tests.gdpr import erasing
from tests.gdpr.erasing import WORD
from tests.world import World

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


def _tables_hold(folder: Path, word: str, by: Any = connection) -> bool:
    """Whether a word is in a database's files, the write-ahead log left out."""
    pattern = word.encode()
    with by.cursor() as cursor:
        cursor.execute("SELECT oid FROM pg_database WHERE datname = current_database()")
        own = folder / "base" / str(cursor.fetchone()[0])
    files = (path for path in own.rglob("*") if path.is_file())
    return any(pattern in path.read_bytes() for path in files)


def _written_out() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CHECKPOINT")


def test_a_rewritten_table_holds_nothing_of_deleted_rows(shared_world: World) -> None:
    folder = server_files.folder()
    assert folder is not None, "the test's own server is on this machine"
    row = shared_world.entry(f"about {WORD}")
    _written_out()
    assert _tables_hold(folder, WORD)
    from memory.journal import erasure as journal_erasure

    journal_erasure.erase(shared_world.acme.id, [row.id])
    _written_out()
    assert _tables_hold(folder, WORD), "the dead row lies there"
    methods, remains, todo = postgres.clean(["journal_entries"])
    assert not todo
    assert any("journal_entries" in line for line in methods)
    assert any("Replicas" in line for line in remains)
    assert not _tables_hold(folder, WORD)


def test_a_table_that_somebody_holds_is_left_for_later(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "TRIES", 2)
    monkeypatch.setattr(postgres, "WAIT", 0.01)
    other = connection.copy("other")
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM journal_entries")
        assert not postgres.rewrite("journal_entries")
        other.rollback()
        assert postgres.rewrite("journal_entries")
    finally:
        other.close()


def test_a_run_ends_with_the_tables_clean(shared_world: World) -> None:
    erasing.lived_in(shared_world)
    case = erasing.erased(shared_world, erasing.maria(shared_world))
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    folder = server_files.folder()
    assert folder is not None
    assert not _tables_hold(folder, WORD)


@pytest.fixture
def neighbour() -> Iterator[psycopg.Connection]:
    """Return a connection to another database of the same server."""
    own = connection.settings_dict
    name = f"{own['NAME']}_neighbour"
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{name}"')
    try:
        with psycopg.connect(
            dbname=name, host=own["HOST"], user=own["USER"], autocommit=True
        ) as other:
            yield other
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def test_what_another_database_of_the_server_says_is_no_trace(
    shared_world: World, neighbour: psycopg.Connection
) -> None:
    erasing.lived_in(shared_world)
    with neighbour.cursor() as cursor:
        cursor.execute("CREATE TABLE guests (name text)")
        cursor.execute("INSERT INTO guests VALUES (%s)", [f"Maria {WORD}"])
        cursor.execute("CHECKPOINT")
    case = erasing.erased(shared_world, erasing.maria(shared_world))
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    folder = server_files.folder()
    assert folder is not None
    assert _tables_hold(folder, WORD, neighbour), "the neighbour keeps its own"


def test_samples_of_a_table_that_is_empty_now_go(shared_world: World) -> None:
    folder = server_files.folder()
    assert folder is not None
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE sampled (word text)")
        cursor.execute("INSERT INTO sampled SELECT %s FROM generate_series(1, 9)", [
            "quaggamarmaladetrombone",
        ])  # fmt: skip
        cursor.execute("ANALYZE sampled")
        cursor.execute("DELETE FROM sampled")
    try:
        # An open transaction of another test may see the old samples a while longer.
        def is_gone() -> bool:
            postgres.clean(["sampled"])
            return not _tables_hold(folder, "quaggamarmaladetrombone")

        waiting.until(is_gone, interval=1)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE sampled")


@pytest.fixture
def early() -> Iterator[BaseDatabaseWrapper]:
    """Return a connection whose transaction began before the erasure."""
    other = connection.copy("early")
    other.set_autocommit(False)
    with other.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("SELECT 1")
    try:
        yield other
    finally:
        other.close()


def _in_a_moment(
    other: BaseDatabaseWrapper, monkeypatch: pytest.MonkeyPatch, beats: int
) -> None:
    """End a transaction after so many waits for it."""
    waits = []
    really = time.sleep

    def wait(seconds: float) -> None:
        # Transactions of other tests are waited for as well.
        really(seconds)
        waits.append(1)
        if len(waits) == beats:
            other.rollback()

    monkeypatch.setattr("gdpr.verification.postgres.time.sleep", wait)


def test_a_transaction_that_began_before_keeps_dead_rows_and_is_told(
    shared_world: World,
    early: BaseDatabaseWrapper,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = server_files.folder()
    assert folder is not None
    row = shared_world.entry(f"about {WORD}")
    with early.cursor() as cursor:
        # Its snapshot has to be taken after the row was added.
        cursor.execute("ROLLBACK")
        cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("SELECT 1")
    from memory.journal import erasure as journal_erasure

    journal_erasure.erase(shared_world.acme.id, [row.id])
    with monkeypatch.context() as hurry:
        hurry.setattr(postgres, "MAX_WAITS", 2)
        _, _, todo = postgres.clean(["journal_entries"])
    _written_out()
    assert _tables_hold(folder, WORD), "whoever began before may still see the row"
    assert postgres.OPEN_TRANSACTION in todo
    early.rollback()
    _, _, todo = postgres.clean(["journal_entries"])
    assert not todo
    assert not _tables_hold(folder, WORD)


def test_a_transaction_that_writes_in_another_database_keeps_dead_rows_too(
    shared_world: World,
    neighbour: psycopg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = server_files.folder()
    assert folder is not None
    row = shared_world.entry(f"about {WORD}")
    neighbour.autocommit = False
    with neighbour.cursor() as cursor:
        cursor.execute("CREATE TABLE guests (name text)")
    from memory.journal import erasure as journal_erasure

    journal_erasure.erase(shared_world.acme.id, [row.id])
    with monkeypatch.context() as hurry:
        hurry.setattr(postgres, "MAX_WAITS", 2)
        _, _, todo = postgres.clean(["journal_entries"])
    _written_out()
    assert _tables_hold(folder, WORD), "the rewrite looked as far back as the writer"
    assert postgres.OPEN_TRANSACTION in todo
    neighbour.rollback()
    _, _, todo = postgres.clean(["journal_entries"])
    assert not todo
    assert not _tables_hold(folder, WORD)


def test_a_transaction_that_began_before_is_waited_for(
    shared_world: World,
    early: BaseDatabaseWrapper,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    erasing.lived_in(shared_world)
    case = erasing.started(
        shared_world, erasing.opened(shared_world, erasing.maria(shared_world))
    )
    _in_a_moment(early, monkeypatch, 3)
    erasure.run(case.workspace_id, case.pk)
    case.refresh_from_db()
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)

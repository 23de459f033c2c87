"""What callers see when a part is gone, and what is there when it is back."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from tests import waiting
from tests.project.machines import Machines
from tests.project.own_postgres import OwnPostgres
from tests.world import World

waiting.LIMIT_SECONDS = 60
pytestmark = [pytest.mark.slow, pytest.mark.postgres]


class Agents:
    """Agents that append and ask all the time, and repeat what was not answered."""

    def __init__(self, url: str, token: str) -> None:
        self._url, self._token = url, token
        self._over, self._lock = threading.Event(), threading.Lock()
        self.statuses: Counter[tuple[str, str]] = Counter()
        # By the summary of the entry: the id that was answered.
        self.acknowledged: dict[str, str] = {}
        self.slowest = 0.0
        self._threads = [
            threading.Thread(target=run, args=(number,), daemon=True)
            for number in range(2)
            for run in (self._append, self._ask)
        ]

    def __enter__(self) -> Agents:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(waiting.LIMIT_SECONDS)

    def appended(self) -> int:
        return len(self.acknowledged)

    def until_more(self, count: int = 5) -> None:
        """Wait until so many more entries were acknowledged, and questions answered."""
        entries, answers = self.appended(), self.statuses["ask", "200"]
        waiting.until(
            lambda: self.appended() >= entries + count
            and self.statuses["ask", "200"] >= answers + count
        )

    def _append(self, number: int) -> None:
        n = 0
        with self._client() as client:
            while not self._over.wait(0.1):
                n += 1
                summary = f"entry {number}-{n} of the drill"
                self._append_until_answered(client, summary)

    def _append_until_answered(self, client: httpx.Client, summary: str) -> None:
        body = {"entry_type": "peer.escalation", "summary": summary}
        while True:
            headers = {"Idempotency-Key": summary}
            answer = self._send("append", client, "/journal", body, headers)
            if answer is not None and answer.status_code == 201:
                with self._lock:
                    self.acknowledged[summary] = str(answer.json()["id"])
                return
            if self._over.wait(0.02):
                return

    def _ask(self, _number: int) -> None:
        with self._client() as client:
            while not self._over.wait(0.1):
                body = {"query": "where is the entry of the drill?"}
                self._send("ask", client, "/episodic/recall", body, {})

    def _send(
        self, kind: str, client: httpx.Client, path: str, body: Any, headers: Any
    ) -> httpx.Response | None:
        start = time.monotonic()
        try:
            answer = client.post(path, json=body, headers=headers)
            status = str(answer.status_code)
        except httpx.TransportError as error:
            answer, status = None, type(error).__name__
        with self._lock:
            self.statuses[kind, status] += 1
            self.slowest = max(self.slowest, time.monotonic() - start)
        return answer

    def _client(self) -> httpx.Client:
        return httpx.Client(
            base_url=f"{self._url}/api/v1",
            headers={"Authorization": f"Bearer {self._token}"},
            timeout=waiting.LIMIT_SECONDS,
        )


@pytest.fixture
def postgres(shared_world: World, tmp_path: Path) -> Iterator[OwnPostgres]:
    server = OwnPostgres(tmp_path / "postgres")
    yield server
    server.stop()


@pytest.fixture
def machines(
    postgres: OwnPostgres, shared_world: World, tmp_path: Path
) -> Iterator[Machines]:
    installation = Machines(tmp_path)
    installation.env["DATABASE_URL"] = postgres.url
    try:
        installation.start_redis()
        yield installation
    finally:
        installation.kill_all()


def rows(postgres: OwnPostgres, sql: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(postgres.uri, autocommit=True) as server:
        return server.execute(sql).fetchall()  # type: ignore[arg-type]


def pending(postgres: OwnPostgres) -> int:
    sql = (
        "SELECT count(*) FROM journal_entries e WHERE embeddable AND NOT EXISTS"
        " (SELECT FROM journal_embeddings v WHERE v.entry_id = e.id"
        " AND v.state = 'indexed')"
    )
    return int(rows(postgres, sql)[0][0])


def test_drill(
    machines: Machines, postgres: OwnPostgres, shared_world: World
) -> None:
    t = time.monotonic()
    url = machines.web()
    machines.worker()
    machines.clock()
    waiting.until(lambda: httpx.get(f"{url}/livez").status_code == 200 if _up(url) else False)
    print("started", time.monotonic() - t)
    with Agents(url, shared_world.tokens["ada"]) as agents:
        agents.until_more()
        print("running", time.monotonic() - t, agents.statuses)
        postgres.kill()
        down = time.monotonic()
        import os
        while time.monotonic() - down < float(os.environ.get("DOWN", "3")):
            try:
                s = time.monotonic(); r = httpx.get(f"{url}/readyz", timeout=60); print("readyz", r.status_code, r.text[:200], time.monotonic() - s)
                s = time.monotonic(); r = httpx.get(f"{url}/livez", timeout=60); print("livez", r.status_code, time.monotonic() - s)
            except Exception as e: print("readyz", repr(e))
            time.sleep(.5)
        print("down", agents.statuses, agents.slowest)
        postgres.start()
        up = time.monotonic()
        agents.until_more()
        print("recovered after", time.monotonic() - up, agents.statuses, agents.slowest)
        b=dict(agents.statuses)
        agents.until_more(20)
        print("later", {k: v-b.get(k,0) for k,v in agents.statuses.items()})
        s = time.monotonic()
        waiting.until(lambda: pending(postgres) < 10)
        print("embedded", time.monotonic() - s)
        r = httpx.get(f"{url}/readyz"); print(r.status_code, r.text)
        # redis
        machines.processes["redis"].kill(); machines.processes["redis"].wait()
        agents.slowest = 0; b=dict(agents.statuses); s=time.monotonic()
        agents.until_more(20)
        print("no redis", {k: v-b.get(k,0) for k,v in agents.statuses.items()}, agents.slowest, time.monotonic()-s)
        r = httpx.get(f"{url}/readyz"); print(r.status_code, r.text)
        machines.start_redis()
        s=time.monotonic()
        waiting.until(lambda: pending(postgres) < 10)
        print("redis back, embedded", time.monotonic() - s)
        waiting.until(lambda: not httpx.get(f"{url}/readyz").json()["degraded"])
        print("not degraded", time.monotonic() - s)
    for name in ("web", "worker", "clock"):
        machines.is_running(name)
        text = machines.log(name).read_text()
        print(name, Counter(l.split('"event": "')[1].split('"')[0] for l in text.splitlines() if '"event": "' in l and '"level": "debug"' not in l).most_common(12))
    ids = dict(rows(postgres, "SELECT summary, id FROM journal_entries WHERE summary LIKE '%drill'"))
    n = rows(postgres, "SELECT count(*) FROM journal_entries WHERE summary LIKE '%drill'")
    print(len(ids), n, len(agents.acknowledged), all(ids[k]==v for k,v in agents.acknowledged.items()))
    print("total", time.monotonic() - t)


def _up(url):
    try:
        httpx.get(f"{url}/livez"); return True
    except httpx.TransportError:
        return False

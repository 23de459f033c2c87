"""The steps of *Scale out*, typed as they stand: all processes, and their restart."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from memory.jobs import queues
from tests import processes, waiting
from tests.project import pages, scaled_out, source
from tests.project.scaled_out import Database, Installation

PROCESS_LINES = 5
JOB = "health"
QUESTION = "can you deliver a kayak to my house?"
ANSWER = "Boats are collected by the customer, they are never sent by post"


# ── compose.yaml says the same ───────────────────────────────────────────────
def services() -> dict[str, Any]:
    text = (source.ROOT / "compose.yaml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text)["services"])


def command_of(service: dict[str, Any]) -> list[str]:
    """Return what a container runs; the image's own entry point is ``manage.py``."""
    entry = service.get("entrypoint", ["python", "manage.py"])
    return [*entry, *service["command"]]


def test_compose_runs_the_commands_of_the_page() -> None:
    *_, shell, tables, running, _health = map(scaled_out.commands, scaled_out.steps())
    own = services()
    shell_command, option, script = command_of(own["prepare"])
    assert (shell_command, option) == ("sh", "-ec")
    prepared = [line.split() for line in script.split(" && ")]
    assert prepared == [tables[0], shell[1]]
    names = ("web", "web", "embedding", "worker", "clock")
    assert [command_of(own[name]) for name in names] == running
    served = [line[line.index("-Q") + 1] for line in running if "-Q" in line]
    assert sorted(",".join(served).split(",")) == sorted(queues.ALL)


def test_compose_asks_for_health_as_the_page_does() -> None:
    *_, health = map(scaled_out.commands, scaled_out.steps())
    own = services()
    commands = [
        own[name]["healthcheck"]["test"] for name in ("embedding", "worker", "clock")
    ]
    assert commands == [["CMD", *line] for line in health[1:]]
    # The web's is that of the image, see tests/project/test_image.py.
    assert "healthcheck" not in own["web"]
    assert "/readyz" in health[0][-1]
    for name in ("postgres", "redis"):
        assert own[name]["healthcheck"]["test"]


@pytest.mark.postgres
def test_compose_has_the_postgresql_that_is_tested() -> None:
    service = services()["postgres"]
    with Database().server() as server:
        major = server.info.server_version // 10_000
    assert service["image"] == f"pgvector/pgvector:pg{major}"
    assert service["volumes"] == [f"postgres{major}:/var/lib/postgresql"]
    assert f"PostgreSQL {major} in the volume `postgres{major}`" in pages.text(
        pages.OPERATING
    )


# ── The steps, and a restart under load ──────────────────────────────────────
@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    program = scaled_out.redis_server()
    if program is None:
        pytest.skip("there is no Redis here")
    port, database = processes.free_port(), Database()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    log = (tmp_path / "redis.log").open("wb")
    redis = subprocess.Popen([program, *options], cwd=tmp_path, stdout=log, stderr=log)
    typed = Installation(tmp_path / "checkout", database, f"redis://127.0.0.1:{port}/0")
    try:
        yield typed
    finally:
        typed.kill()
        redis.kill()
        redis.wait()
        log.close()
        database.drop()


def set_up(installation: Installation) -> None:
    database, settings, shell, tables, running, _health = scaled_out.steps()
    installation.database.make(database)
    installation.run(settings)
    # The static files are the machine's, the tables are the database's.
    with ThreadPoolExecutor() as threads:
        opening = threads.submit(installation.open_shells, shell)
        migrate, bootstrap = tables.splitlines()
        installation.run(f"{shell.partition(chr(10))[0]}\n{migrate}")
        opening.result()
    assert "/login/" in installation.run(bootstrap)
    installation.lines = running.splitlines()
    assert len(installation.lines) == PROCESS_LINES
    for number in range(PROCESS_LINES):
        installation.start(number)


def keys_of(installation: Installation) -> tuple[str, str]:
    """Return an agent's and an admin's key of the first workspace."""
    issue = ".venv/bin/python manage.py issue_key --workspace main"
    agent, admin = (
        json.loads(installation.run(f"{issue} {options} --json"))["key"]
        for options in (
            "--crew dock --agent ada --create",
            "--email you@example.com --role admin",
        )
    )
    return agent, admin


def client_of(installation: Installation, key: str) -> httpx.Client:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.Client(
        base_url=f"{installation.url}/api/v1",
        headers=headers,
        timeout=waiting.LIMIT_SECONDS,
    )


def append(client: httpx.Client, text: str) -> str:
    body = {"entry_type": "memory.recorded", "summary": text}
    reply = client.post("/journal", json=body)
    assert reply.status_code == 201, reply.text
    return str(reply.json()["id"])


def recalled(client: httpx.Client, query: str) -> list[str]:
    body = {"query": query, "k": 5, "mode": "dense"}
    reply = client.post("/episodic/recall", json=body)
    assert reply.status_code == 200, reply.text
    return [hit["entry_id"] for hit in reply.json()["hits"]]


class Load:
    """Clients that append and recall without a pause, each with its own connections."""

    def __init__(self, installation: Installation, key: str) -> None:
        self.acknowledged: list[str] = []
        self._installation, self._key = installation, key
        self._ended = threading.Event()
        self._threads = ThreadPoolExecutor()

    def __enter__(self) -> Load:
        clients = (self._kept, self._new)
        self._running = [self._threads.submit(client) for client in clients]
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for running in self._running:
            running.result()
        self._threads.shutdown()

    def _once(self, client: httpx.Client) -> None:
        self.acknowledged.append(append(client, "A boat came in"))
        recalled(client, "boat")
        self._ended.wait(0.25)

    def _kept(self) -> None:
        """One connection, as long as the server keeps it."""
        with client_of(self._installation, self._key) as client:
            while not self._ended.is_set():
                self._once(client)

    def _new(self) -> None:
        while not self._ended.is_set():
            with client_of(self._installation, self._key) as client:
                self._once(client)


@pytest.mark.slow
@pytest.mark.postgres
def test_the_steps_make_an_installation_that_restarts_without_an_error(
    installation: Installation,
) -> None:
    set_up(installation)
    agent, admin = keys_of(installation)
    for number in range(PROCESS_LINES):
        installation.wait_for(number)
    *_, health = scaled_out.steps()
    installation.run(health)
    with client_of(installation, admin) as operator:
        assert operator.get(f"{installation.url}/readyz").json()["degraded"] == []
        written_on_one_is_recalled_by_meaning_on_the_other(installation, agent)
        a_job_runs_in_a_worker(operator)
    with Load(installation, agent) as load:
        for number in range(PROCESS_LINES):
            count = len(load.acknowledged)
            installation.restart(number)
            assert len(load.acknowledged) > count
    nothing_acknowledged_is_lost(installation, load.acknowledged)


def written_on_one_is_recalled_by_meaning_on_the_other(
    installation: Installation, key: str
) -> None:
    with ExitStack() as stack:
        clients: dict[int, httpx.Client] = {}
        while len(clients) < 2:
            client = stack.enter_context(client_of(installation, key))
            stream = client.get("/journal").extensions["network_stream"]
            number = installation.owner_of(stream.get_extra_info("client_addr"))
            clients.setdefault(number, client)
        first, second = clients.values()
        entry = append(first, ANSWER)
        waiting.until(lambda: entry in recalled(second, QUESTION), interval=0.25)


def a_job_runs_in_a_worker(operator: httpx.Client) -> None:
    def last() -> Any:
        jobs = operator.get("/jobs").json()["items"]
        return next(job["last"] for job in jobs if job["name"] == JOB)

    reply = operator.post(f"/jobs/{JOB}/run")
    assert reply.status_code == 202, reply.text
    waiting.until(lambda: last() and last()["state"] == "done", interval=0.25)


def nothing_acknowledged_is_lost(installation: Installation, ids: list[str]) -> None:
    with installation.database.server(installation.database.name) as server:
        query = "SELECT count(*) FROM journal_entries WHERE id = ANY(%s)"
        row = server.execute(query, [ids]).fetchone()
    assert row == (len(set(ids)),)
    verify = ".venv/bin/python manage.py journal_verify --workspace main --json"
    assert json.loads(installation.run(verify))
    for number in range(2):
        log = installation.log(number).read_text()
        assert not re.search(r" 5\d\d |Traceback", log), log

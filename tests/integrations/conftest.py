"""A whole installation in its own process, for other systems' clients."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import psycopg
import pytest
from django.conf import settings
from django.db import connection

from tests import processes, waiting
from tests.integrations import clients
from tests.integrations.clients import ClientRun

MANAGE = settings.BASE_DIR / "manage.py"
KEY_OWNERS = {
    "key": ("acme", ["--crew", "support", "--agent", "ada"]),
    "lead": ("acme", ["--crew", "support", "--agent", "lena", "--role", "LEAD"]),
    "other": ("acme", ["--crew", "billing", "--agent", "bob"]),
    "operator": ("acme", ["--email", "owner@acme.example", "--role", "admin"]),
    "stranger": ("other", ["--crew", "support", "--agent", "olga"]),
}

RunClient = Callable[..., ClientRun]


@dataclass
class RunningServer:
    """A running server, and keys of its agents."""

    folder: Path
    port: int
    keys: dict[str, str]

    @property
    def url(self) -> str:
        """The base address."""
        return f"http://127.0.0.1:{self.port}"

    def env(self) -> dict[str, str]:
        """Return the environment variables of a driver."""
        owners = {
            "HOUSE_KEY": "key",
            "HOUSE_LEAD_KEY": "lead",
            "HOUSE_OTHER_KEY": "other",
            "HOUSE_OPERATOR_KEY": "operator",
            "HOUSE_STRANGER_KEY": "stranger",
        }
        values = {name: self.keys[owner] for name, owner in owners.items()}
        return {"HOUSE_URL": self.url, **values}

    def log_bytes(self) -> bytes:
        """Return every byte the installation wrote, logs and database included."""
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        return b"\n".join(path.read_bytes() for path in files)


def _database(folder: Path) -> dict[str, str]:
    """Return settings of a database of its own, on the tests' database server."""
    url = os.environ.get("DATABASE_URL", "")
    if not url.startswith("postgres"):
        return {}
    full_name = folder / "database"
    if not full_name.exists():
        name = f"house_{os.getpid()}"
        config = connection.settings_dict
        parts = {"host": "HOST", "port": "PORT", "user": "USER", "password": "PASSWORD"}
        login = {key: config[of] for key, of in parts.items() if config[of]}
        with psycopg.connect(**login, dbname="postgres", autocommit=True) as server:
            server.execute(f"create database {name}")
        full_name.write_text(name)
    return {"DATABASE_URL": f"{url.rpartition('/')[0]}/{full_name.read_text()}"}


def _env(folder: Path) -> dict[str, str]:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CREWSHIP_", "OLLAMA_"))
        and name not in ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE")
    }
    settings = {
        "CREWSHIP_DATA_DIR": str(folder / "data"),
        "CREWSHIP_EMBEDDER": "hashing",
    }
    extra = {"PYTHONUNBUFFERED": "1", "CREWSHIP_WEBHOOK_PRIVATE": "1"}
    return {**inherited, **settings, **extra, **_database(folder)}


# All in one process: to start it takes longer than they do.
MANAGE_ALL = """
import django, io, json, sys
django.setup()
from django.core.management import call_command
for command in json.loads(sys.argv[1]):
    out = io.StringIO()
    call_command(*command, stdout=out)
    print(json.dumps(out.getvalue().strip()))
"""


def _manage(folder: Path, *commands: list[str]) -> list[str]:
    """Run management commands one after the other; return what each of them says."""
    process = subprocess.run(
        [sys.executable, "-c", MANAGE_ALL, json.dumps(commands)],
        cwd=settings.BASE_DIR,
        env={**_env(folder), "DJANGO_SETTINGS_MODULE": "crewship_memory.settings"},
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in process.stdout.splitlines()]


def _prepare(folder: Path) -> dict[str, str]:
    """Migrate, and make two workspaces; return the keys of its agents and people."""
    commands = [["migrate", "--verbosity", "0"]]
    for slug in ("acme", "other"):
        admin = ["--email", f"owner@{slug}.example"]
        commands.append(["bootstrap", "--workspace", slug, *admin, "--json"])
    for slug, owner in KEY_OWNERS.values():
        names = ["--workspace", slug, *owner]
        commands.append(["issue_key", *names, "--create", "--json"])
    _, _, _, *answers = _manage(folder, *commands)
    keys = [json.loads(answer)["key"] for answer in answers]
    return dict(zip(KEY_OWNERS, keys, strict=True))


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    def is_ready() -> bool:
        assert process.poll() is None, log.read_text()[-4_000:]
        try:
            return httpx.get(f"{url}/readyz", trust_env=False).status_code == 200
        except httpx.HTTPError:
            return False

    waiting.until(is_ready, interval=0.1)


@pytest.fixture(scope="session")
def running_server(
    tmp_path_factory: pytest.TempPathFactory, migrated_database: Path
) -> Iterator[RunningServer]:
    """One server for all clients of a run, like ``manage.py up`` starts it."""
    folder = tmp_path_factory.mktemp("running_server")
    if not _database(folder):
        (folder / "data").mkdir(mode=0o700)
        shutil.copy(migrated_database, folder / "data" / "crewship.sqlite3")
    server = RunningServer(folder, processes.free_port(), _prepare(folder))
    log = folder / "server.log"
    with log.open("wb") as log_file:
        process = subprocess.Popen(
            [sys.executable, str(MANAGE), "up", "--port", str(server.port)],
            env=_env(folder),
            stdout=log_file,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait(server.url, process, log)
            yield server
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(waiting.LIMIT_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def need(name: str) -> None:
    """Skip when a client is not installed, with the command that installs it."""
    if not clients.is_here(name):
        pytest.skip(clients.skip_reason(name))


@pytest.fixture
def client(request: pytest.FixtureRequest) -> RunClient:
    """Return a function that runs a driver: ``client("mem0", "mem0_round_trip")``."""

    def run(name: str, driver: str, **extra: str) -> ClientRun:
        need(name)
        running_server: RunningServer = request.getfixturevalue("running_server")
        return clients.drive(name, driver, {**running_server.env(), **extra})

    return run

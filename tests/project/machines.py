"""An installation that is scaled out: Redis, web, workers and clock as real processes.

They share the test database. Where there is no Redis the tests are skipped by name;
``.ci/run`` installs one.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from django.conf import settings

from tests import processes, waiting

# What a supervisor waits before it kills.
END_SECONDS: Final = 20
CELERY: Final = (sys.executable, "-m", "celery", "-q", "-A", "crewship_memory")
MANAGE: Final = (sys.executable, str(settings.BASE_DIR / "manage.py"))


class Machines:
    """Redis and whatever was started beside it; all ends with the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._waiting_for: dict[str, Callable[[], bool]] = {}
        self.port = processes.free_port()
        self.redis = f"redis://127.0.0.1:{self.port}/0"
        self.env = os.environ | {
            "DATABASE_URL": processes.database_url(),
            "REDIS_URL": self.redis,
            "CREWSHIP_DATA_DIR": str(settings.DATA_DIR),
            "CREWSHIP_LOG_FORMAT": "json",
            "CREWSHIP_LOG_LEVEL": "DEBUG",
            "PYTHONUNBUFFERED": "1",
        }

    def start_redis(self) -> None:
        program = shutil.which("redis-server")
        if program is None:
            pytest.skip("there is no Redis here")
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        self.start("redis", [program, *options, "--appendonly", "no"])
        waiting.until(self._is_open)

    def _is_open(self) -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.port)) == 0

    def start(self, name: str, command: Sequence[str]) -> None:
        with self.log(name).open("wb") as log:
            self.processes[name] = subprocess.Popen(
                command, env=self.env, cwd=settings.BASE_DIR, stdout=log, stderr=log
            )

    def worker(self, *options: str, name: str = "worker") -> None:
        self.start(name, [*CELERY, "worker", *options])
        self._waiting_for[name] = partial(self._has_pulse, name)

    def clock(self, name: str = "clock") -> None:
        self.start(name, [*CELERY, "beat"])
        self._waiting_for[name] = partial(self._has_pulse, name)

    def web(self) -> str:
        """Start a web process and return its address."""
        port = processes.free_port()
        self.start("web", [*MANAGE, "web", "--port", str(port)])
        url = f"http://127.0.0.1:{port}"
        self._waiting_for["web"] = partial(_answers, url)
        return url

    def until_all_serve(self) -> None:
        """Wait for what was started: it starts side by side."""
        for name, serves in self._waiting_for.items():
            waiting.until(lambda n=name, s=serves: self.is_running(n) and s())  # type: ignore[misc]
        self._waiting_for.clear()

    def until_web_answers(self) -> None:
        """Wait for the web process alone."""
        waiting.until(self._waiting_for.pop("web"))

    def _has_pulse(self, name: str) -> bool:
        from memory.models import WorkerProcess

        pid = self.processes[name].pid
        return WorkerProcess.objects.filter(name__startswith=f"{pid}:").exists()

    def is_running(self, name: str) -> bool:
        assert self.processes[name].poll() is None, self.log(name).read_text()
        return True

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def lines(self, name: str) -> list[dict[str, Any]]:
        """Return the lines of a process's log; anything else in it fails."""
        text = self.log(name).read_text()
        lines = text[: text.rfind("\n") + 1].splitlines()
        spoken_lines = ("worker: Warm shutdown (MainProcess)", "")
        return [json.loads(line) for line in lines if line not in spoken_lines]

    def end(self, *names: str) -> list[int]:
        """Ask processes to end, all at once; return their exit codes."""
        for name in names:
            self.processes[name].send_signal(signal.SIGTERM)
        return [self.processes[name].wait(timeout=END_SECONDS) for name in names]

    def kill_all(self) -> None:
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
            process.wait()


def children_of(pid: int) -> list[str]:
    """Return the processes that a process has started and not waited for."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [child for path in tasks for child in path.read_text().split()]


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/livez").status_code == 200
    except httpx.TransportError:
        return False

"""Run the server in a process of its own on a temporary data folder."""

from __future__ import annotations

import compileall
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx
from django.conf import settings

START_SECONDS: Final = 60
PACKAGES: Final = ("crewship_memory", "gdpr", "episodic", "memory")


@dataclass(frozen=True, slots=True)
class Running:
    """A server that answers; ``started`` is when its process was (perf_counter)."""

    url: str
    pid: int
    started: float


def free_port() -> int:
    """Return a loopback port that is free at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environment(data_dir: Path) -> dict[str, str]:
    """Return the variables of a server that is measured, and compile the program."""
    variables = os.environ | {
        "CREWSHIP_DATA_DIR": str(data_dir),
        "CREWSHIP_RATE_LIMIT": "100000000/m",
        "CREWSHIP_LOG_LEVEL": "WARNING",
    }
    # As it is installed: an image has the program compiled, and a second start too.
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    for package in PACKAGES:
        compileall.compile_dir(settings.BASE_DIR / package, quiet=2)
    return variables


def wait(url: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server is ready."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            message = f"The server ended with code {process.returncode}."
            raise RuntimeError(message)
        try:
            if httpx.get(f"{url}/readyz", timeout=1).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    message = "The server was not ready in time."
    raise RuntimeError(message)


@contextmanager
def running(data_dir: Path) -> Iterator[Running]:
    """Run ``manage.py up`` on the given data folder."""
    port = free_port()
    variables = environment(data_dir)
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "up"]
    started = time.perf_counter()
    with (data_dir / "bench-server.log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603  (our own command, our own arguments)
            [*command, "--port", str(port)], env=variables, stdout=log, stderr=log
        )
        try:
            url = f"http://127.0.0.1:{port}"
            wait(url, process)
            yield Running(url, process.pid, started)
        finally:
            process.terminate()
            process.wait(timeout=30)

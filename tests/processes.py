"""Other processes that work on the test database."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import runpy
import secrets
import socket
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import pytest
from django.db import connection

from gdpr.verification import file_scan
from tests.waiting import LIMIT_SECONDS

CONTEXT: Final = multiprocessing.get_context("forkserver")


def database_url() -> str:
    """Return the address of the database this test runs on, for another process."""
    config = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{config['NAME']}"
    login = f"{config['USER']}:{config['PASSWORD']}".rstrip(":")
    if str(config["HOST"]).startswith("/"):
        return f"postgres://{login}@/{config['HOST']}/{config['NAME']}"
    place = f"{config['HOST']}:{config['PORT']}".rstrip(":")
    return f"postgres://{login}@{place}/{config['NAME']}"


def bytes_of(path: Path) -> bytes:
    """Return a file's bytes; the live database keeps the locks of this process."""
    return b"".join(file_scan.pieces(path, 0))


def free_port() -> int:
    """Return a port that nobody has, and that no outgoing connection will be given.

    The kernel takes the ports of outgoing connections from 32768 on.
    """
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with socket.socket() as candidate, contextlib.suppress(OSError):
            candidate.bind(("127.0.0.1", port))
            return port


# ── Processes that begin as a copy of one that is ready ──────────────────────
class Child:
    """A process of its own, with the part of ``Popen`` that tests use."""

    def __init__(self, target: Callable[..., None], *args: str) -> None:
        _get_ready()
        reading, writing = CONTEXT.Pipe(duplex=False)
        # A child that a failed test left running ends with the run.
        self._process = CONTEXT.Process(
            target=_speak, args=(writing, target, args), daemon=True
        )
        self._process.start()
        writing.close()
        self.stdout = os.fdopen(os.dup(reading.fileno()), encoding="utf-8")
        reading.close()

    @property
    def returncode(self) -> int | None:
        """The exit code, or the negative number of the signal that ended it."""
        return self._process.exitcode

    def communicate(self, timeout: float = LIMIT_SECONDS) -> tuple[str, None]:
        """Return the output up to the end; kill a process that does not end in time."""
        with self.stdout, ThreadPoolExecutor(1) as thread:
            reading = thread.submit(self.stdout.read)
            try:
                output = reading.result(timeout)
            except TimeoutError:
                self.kill()
                raise
        self.wait(timeout)
        return output, None

    def wait(self, timeout: float = LIMIT_SECONDS) -> None:
        self._process.join(timeout)
        assert self._process.exitcode is not None, f"runs after {timeout} seconds"

    def kill(self) -> None:
        self._process.kill()


def _get_ready() -> None:
    """Start the process that the others are copies of, where there is none yet.

    A copy costs a hundredth of a start, which loads Django and all of our modules.
    """
    CONTEXT.set_forkserver_preload(["tests.preloaded"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DATABASE_URL", database_url())
        patch.setenv("DJANGO_SETTINGS_MODULE", "crewship_memory.settings")
        forkserver.ensure_running()


def _speak(out: Connection, target: Callable[..., None], args: tuple[str, ...]) -> None:
    os.dup2(out.fileno(), 1)
    out.close()
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    target(*args)


def _run_module(module: str, *args: str) -> None:
    sys.argv = [module, *args]
    runpy.run_module(module, run_name="__main__")


def _run_code(code: str) -> None:
    exec(code, {"__name__": "__main__"})


def start(module: str, *args: str) -> Child:
    """Start a module as a process on the test database."""
    return Child(_run_module, module, *args)


def run(code: str) -> str:
    """Run Python code in another process on the test database; return its output."""
    child = Child(_run_code, code)
    output, _ = child.communicate()
    assert child.returncode == 0, output
    return output

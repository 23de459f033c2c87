"""Machines of the drill: a data folder, a database, and processes that use them."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg
from django.db import connection

from crewship_memory.backup import envelope
from crewship_memory.backup.envelope import Input
from crewship_memory.backup.frames import Kind, Reader, Writer
from tests import waiting
from tests.project.source import ROOT

KEY: Final = "a key of the drill, long enough"
FIRST: Final = "Boats need paint every spring"
# What an installation lacks that was not upgraded to the release of scaling out: by
# app, the steps from this number on.
_LATER: Final = {"gdpr": 14, "memory": 9, "episodic": 6}
_LATER_TABLES: Final = {
    "gdpr_covered_words",
    "gdpr_export_words",
    "gdpr_remembered_words",
    "review_labels",
    "scanner_proposals",
}
_LATER_COLUMNS: Final = {
    "installation": ["bodies"],
    "recall_check_runs": ["workspace_id"],
    "scan_clearances": ["allows_all", "kind"],
}


class Machine:
    """A data folder and a database of its own."""

    def __init__(
        self, folder: Path, url: str = "", database: Path | None = None
    ) -> None:
        self.folder = folder
        folder.mkdir(mode=0o700, parents=True)
        if database is not None:
            shutil.copy(database, folder / "crewship.sqlite3")
        self.env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("CREWSHIP_", "COV_", "DATABASE_URL"))
        } | {
            "CREWSHIP_DATA_DIR": str(folder),
            "CREWSHIP_EMBEDDER": "hashing",
            "CREWSHIP_BACKUP_KEY": KEY,
            # The people and agents that ``backup_life begin`` made.
            "DRILL_WORLD": str(folder.with_suffix(".world")),
            "CREWSHIP_LOG_LEVEL": "ERROR",
            "DJANGO_SETTINGS_MODULE": "crewship_memory.settings",
        }
        if url:
            self.env["DATABASE_URL"] = url

    @contextmanager
    def writing(self) -> Iterator[list[str]]:
        """Let another process write meanwhile; yield what it was answered first."""
        act = ("-m", "tests.project.backup_life", "append")
        with self._popen(*act, stdin=subprocess.PIPE) as writer:
            assert writer.stdout is not None and writer.stdin is not None
            yield [writer.stdout.readline().strip() for _ in range(3)]
            assert writer.poll() is None
            writer.communicate(timeout=waiting.LIMIT_SECONDS)

    def _popen(self, *args: str, **options: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *args],
            cwd=ROOT,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )

    def run(self, *args: str) -> tuple[int, str, str]:
        """Run Python with arguments; return exit code, output and errors."""
        process = self._popen(*args)
        try:
            out, err = process.communicate(timeout=waiting.LIMIT_SECONDS)
        finally:
            process.kill()
        return process.returncode, out, err

    def act(self, *args: str) -> Any:
        """Do something of ``backup_life``; return what it says."""
        code, out, err = self.run("-m", "tests.project.backup_life", *args)
        assert code == 0, err
        return json.loads(out.splitlines()[-1])

    def kill(self, step: str, *command: str) -> int:
        """Run a command that dies at a step; return how it ended."""
        return self.run("-m", "tests.project.backup_life", "kill", step, *command)[0]

    def manage(self, *args: str, code: int = 0) -> str:
        """Run a command; return its output, or its error where one is expected."""
        ended, out, err = self.run("manage.py", *args)
        assert ended == code, f"{args} ended with {ended}\n{out}\n{err}"
        return err if code else out

    def report(self, *args: str) -> Any:
        return json.loads(self.manage(*args, "--json").splitlines()[-1])


@contextmanager
def new_postgres() -> Iterator[str]:
    """Yield the address of an empty database on the server of this test run."""
    config, name = connection.settings_dict, f"drill_{secrets.token_hex(4)}"
    parts = {"host": "HOST", "port": "PORT", "user": "USER", "password": "PASSWORD"}
    login = {key: config[of] for key, of in parts.items() if config[of]}
    with psycopg.connect(**login, dbname="postgres", autocommit=True) as server:
        server.execute(f"create database {name}".encode())
        place = f"{config['USER']}:{config['PASSWORD']}".rstrip(":")
        try:
            yield f"postgres://{place}@/{config['HOST']}/{name}"
        finally:
            server.execute(f"drop database {name} with (force)".encode())


# ── Backups that are looked at and changed ───────────────────────────────────
def is_without_maria(state: dict[str, Any]) -> None:
    assert (state["tables"], state["files"]) == ([], [])
    assert state["is_served"] and state["ready"] == [] and not state["is_marked"]
    assert state["chain"] and state["recalled"] == [FIRST]
    assert "- Boats" in "".join(state["memory"])


def rewritten(file: str, target: Path, change: Callable[[Kind, Any], None]) -> str:
    """Write a backup again with changed frames, without rows of unnamed tables."""
    secret = KEY.encode()
    with Path(file).open("rb") as source, envelope.output(target, secret) as output:
        writer, tables = Writer(output.write), set()
        for frame in Reader(Input(source, secret)):
            content = frame.content
            change(frame.kind, content)
            if frame.kind == Kind.HEADER:
                tables = {table["name"] for table in content["tables"]}
            if frame.kind == Kind.END:
                content = content | {"sha256": writer.digest.hexdigest()}
            if frame.kind != Kind.ROWS or content["table"] in tables:
                writer.put(frame.kind, content, frame.data)
    return str(target)


def aged(file: str, target: Path) -> str:
    """Write a backup as an earlier version would have made it."""
    places: dict[str, list[int]] = {}

    def age(kind: Kind, content: Any) -> None:
        if kind == Kind.HEADER:
            steps = content["migrations"]
            content["migrations"] = [
                (app, name)
                for app, name in steps
                if app not in _LATER or int(name[:4]) < _LATER[app]
            ]
            tables = content["tables"]
            tables[:] = [t for t in tables if t["name"] not in _LATER_TABLES]
            for table in tables:
                names = [name for name, _ in table["columns"]]
                later = map(names.index, _LATER_COLUMNS.get(table["name"], ()))
                places[table["name"]] = sorted(later, reverse=True)
                for place in places[table["name"]]:
                    del table["columns"][place]
        elif kind == Kind.ROWS and content["table"] in places:
            for row in content["rows"]:
                for place in places[content["table"]]:
                    del row[place]

    return rewritten(file, target, age)

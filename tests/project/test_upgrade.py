"""A data folder whose migrations were replaced by one per app is upgraded."""

from __future__ import annotations

import base64
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.project.source import ROOT

SNAPSHOT = ROOT / "tests" / "snapshots" / "earlier_data_folder.json"
COLUMNS = "SELECT * FROM pragma_table_xinfo(?)"

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder as version 0.1.0 had it before migrations were replaced."""
    snapshot = json.loads(SNAPSHOT.read_text(encoding="utf-8"))
    folder = tmp_path / "data"
    for name, content in snapshot["files"].items():
        path = folder / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(content))
        path.chmod(0o600)
    with closing(sqlite3.connect(folder / "crewship.sqlite3")) as database:
        for statement in snapshot["statements"]:
            database.execute(statement)
        database.commit()
    return folder


def _run(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "CREWSHIP_DATA_DIR": str(folder)}
    env.pop("DATABASE_URL", None)
    return subprocess.run(
        [sys.executable, *args],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


def shape(path: Path) -> dict[str, object]:
    """Return the columns of every table in any order, and the other statements."""
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute("SELECT name, type, sql FROM sqlite_master").fetchall()
        return {
            name: sorted(row[1:] for row in database.execute(COLUMNS, [name]))
            if kind == "table"
            else " ".join((statement or "").split())
            for name, kind, statement in rows
        }


def test_it_has_the_tables_of_a_new_installation(
    folder: Path, migrated_database: Path
) -> None:
    process = _run(folder, "manage.py", "migrate", "--verbosity", "0")
    assert process.returncode == 0, process.stderr
    assert shape(folder / "crewship.sqlite3") == shape(migrated_database)


def test_what_it_holds_is_there_and_in_use(folder: Path) -> None:
    process = _run(folder, "-m", "tests.project.upgraded")
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout) == {
        "entries": 35,
        "files": 1,
        "waiting": [],
        "lost_schema": [],
        "without_words": 0,
        "chain": True,
        "words": True,
        "certificate": True,
        "erasure": "complete",
    }


@pytest.mark.parametrize("command", [["migrate"], ["up", "--port", "0"]])
def test_one_that_stopped_before_the_last_of_them_is_refused(
    folder: Path, command: list[str]
) -> None:
    with closing(sqlite3.connect(folder / "crewship.sqlite3")) as database:
        database.execute("DELETE FROM django_migrations WHERE name LIKE '0019_unpr%'")
        database.commit()
    process = _run(folder, "manage.py", *command)
    assert process.returncode != 0
    assert "too old for this version" in process.stderr
    assert "memory.0019_unproven_addresses" in process.stderr

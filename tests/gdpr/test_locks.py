"""Searching the bytes of a live database drops none of its locks."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from gdpr.verification import file_scan

pytestmark = pytest.mark.sqlite
VISIT = (
    "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]);"
    " print(c.execute('SELECT count(*) FROM t').fetchone()[0]); c.close()"
)


def visited(path: Path) -> int:
    """Open and close the database in another process; return the rows it read."""
    process = subprocess.run(
        [sys.executable, "-c", VISIT, str(path)],
        capture_output=True, check=True, text=True,
    )  # fmt: skip
    return int(process.stdout)


@pytest.fixture
def served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Path, sqlite3.Connection]]:
    """Return a database with a log that a connection of this process writes to."""
    path = tmp_path / "live.sqlite3"
    monkeypatch.setitem(connection.settings_dict, "NAME", str(path))
    live = sqlite3.connect(path, isolation_level=None)
    live.execute("PRAGMA journal_mode = wal")
    live.execute("CREATE TABLE t (x)")
    live.execute("INSERT INTO t VALUES ('canary-in-the-log')")
    yield path, live
    live.close()


def test_a_search_drops_no_lock(served: tuple[Path, sqlite3.Connection]) -> None:
    path, live = served
    for _ in range(2):
        content = b"".join(
            piece
            for ending in ("", "-wal", "-shm")
            for piece in file_scan.pieces(path.with_name(path.name + ending), 8)
        )
        assert b"canary-in-the-log" in content
        visited(path)
        assert path.with_name(path.name + "-wal").exists()
        live.execute("INSERT INTO t VALUES ('later')")
    assert visited(path) == 3
    assert live.execute("PRAGMA quick_check").fetchone() == ("ok",)


def test_without_that_care_the_log_would_be_gone(
    served: tuple[Path, sqlite3.Connection],
) -> None:
    # The fault that the test above guards against; if it is gone, so may the guard.
    path, _ = served
    for ending in ("", "-shm"):
        path.with_name(path.name + ending).read_bytes()
    visited(path)
    assert not path.with_name(path.name + "-wal").exists()

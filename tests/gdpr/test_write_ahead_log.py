"""PostgreSQL's write-ahead log and files: rotated, searched, and said what is left."""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from django.db import connection

from gdpr.verification import (
    file_scan,
    server_files,
    statements,
    write_ahead_log,
)
from tests.gdpr import erasing
from tests.world import World

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


# Of these tests alone: other tests write to the same server's log at the same time.
WORD: Final = f"quaxi{secrets.token_hex(6)}"
MAIL: Final = f"{WORD}@canary.example"


def _residue(world: World) -> dict[str, Any]:
    world.indexed(f"{MAIL} {WORD}")
    case = erasing.erased(world, erasing.subject(world, ("email", MAIL)))
    residue: dict[str, Any] = case.result["residue"]
    return residue


def _held(residue: dict[str, Any]) -> list[str]:
    return [line for line in residue["remains"] if "still hold" in line]


def _in_log(word: str) -> int:
    """Return the segments that hold a word, read without the product's code."""
    folder = server_files.folder()
    assert folder is not None
    segments = (path for path in (folder / "pg_wal").iterdir() if path.is_file())
    return sum(word.encode() in path.read_bytes() for path in segments)


def test_the_log_holds_nothing_of_the_person_after_a_run(shared_world: World) -> None:
    residue = _residue(shared_world)
    assert _in_log(MAIL) == 0
    assert _in_log(WORD) == 0
    assert any(
        m.startswith("segments of the write-ahead log searched")
        for m in residue["methods"]
    )
    assert _held(residue) == []


def test_segments_that_still_hold_words_are_counted_with_the_reason(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which segments do is given here: other tests rotate the same server's log."""

    def holding(_finder: object, segments: list[Path], _: object) -> object:
        return {segments[0]: {MAIL.encode()}}

    monkeypatch.setattr(file_scan, "holding", holding)
    residue = _residue(shared_world)
    (sentence,) = _held(residue)
    assert sentence.startswith("Segments of the write-ahead log that still hold")
    assert re.search(r": 1 of \d+, because of", sentence)
    assert "wal_recycle = on" in sentence


@pytest.fixture
def without_rights(shared_world: World) -> Iterator[None]:
    assert shared_world.acme
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE clerk LOGIN")
        cursor.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO clerk")
        cursor.execute("SET ROLE clerk")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET ROLE")
            cursor.execute("DROP OWNED BY clerk")
            cursor.execute("DROP ROLE clerk")


@pytest.mark.usefixtures("without_rights")
def test_without_the_rights_it_says_so() -> None:
    methods, remains = write_ahead_log.rotate()
    assert (methods, remains) == ([], [write_ahead_log.NOT_ROTATED])
    assert write_ahead_log.files() == []
    assert server_files.not_searched() == [server_files.UNREADABLE]


def test_the_folder_of_another_server_does_not_count(
    shared_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shared_world.acme
    own = server_files.folder()
    assert own is not None
    (tmp_path / "global").mkdir()
    shutil.copy(own / "global" / "pg_control", tmp_path / "global")
    shutil.copy(own / "postmaster.pid", tmp_path)
    setting = server_files.setting

    def elsewhere(name: str) -> str:
        return str(tmp_path) if name == "data_directory" else setting(name)

    monkeypatch.setattr(server_files, "setting", elsewhere)
    assert server_files.folder() == tmp_path, "it looks like this server's"
    pid = (tmp_path / "postmaster.pid").read_text().splitlines()
    pid[2] = "1000"
    (tmp_path / "postmaster.pid").write_text("\n".join(pid))
    assert server_files.folder() is None, "a copy of its folder"
    shutil.copy(own / "postmaster.pid", tmp_path)
    (tmp_path / "global" / "pg_control").write_bytes(bytes(64))
    assert server_files.folder() is None, "another server's folder"


def test_files_of_other_databases_and_the_servers_log_are_counted_as_not_searched(
    shared_world: World,
) -> None:
    assert shared_world.acme
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_database")
        count = cursor.fetchone()[0]
    sentences = server_files.not_searched()
    assert server_files.OTHER_DATABASES.format(count=count - 1) in sentences
    assert server_files.SERVER_LOG.format(destination="stderr") in sentences


def test_a_run_says_that_compressed_values_are_not_readable(
    shared_world: World,
) -> None:
    assert statements.LONG_VALUES in _residue(shared_world)["remains"]

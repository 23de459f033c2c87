"""The data folder: private to its account, or one clear line says why not."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from pytest_django import Settings

from crewship_memory import data_folder, doctor
from crewship_memory import settings as own_settings
from memory.files import paths as file_paths
from memory.installation import key_files
from tests.memory.files import kit
from tests.world import World

COMMANDS = [
    ["manage.py", "up", "--port", "0"],
    ["manage.py", "doctor"],
    ["manage.py", "migrate"],
    ["manage.py", "issue_key", "--workspace", "main"],
    ["-m", "celery", "-A", "crewship_memory", "worker"],
    ["-c", "import crewship_memory.wsgi"],
]


def _in_place_of_the_folder(root: Path) -> Path:
    (root / "data").write_text("not a folder")
    return root / "data"


def _below_a_file(root: Path) -> Path:
    return _in_place_of_the_folder(root) / "data"


def _that_nobody_can_make(_root: Path) -> Path:
    return Path("/proc/missing/data")


def _run(args: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *args],
        env={**os.environ, "CREWSHIP_DATA_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def _is_one_line(process: subprocess.CompletedProcess[str], folder: Path) -> bool:
    lines = [line for line in process.stderr.splitlines() if line.strip()]
    is_named = len(lines) == 1 and str(folder) in lines[0]
    return is_named and "CREWSHIP_DATA_DIR" in lines[0] and process.returncode == 1


@pytest.mark.slow
@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
def test_a_file_in_place_of_the_folder_is_one_line(
    tmp_path: Path, args: list[str]
) -> None:
    folder = _in_place_of_the_folder(tmp_path)
    process = _run(args, folder)
    assert _is_one_line(process, folder), process.stderr


@pytest.mark.slow
@pytest.mark.parametrize("make", [_below_a_file, _that_nobody_can_make])
def test_a_path_that_cannot_be_made_is_one_line(tmp_path: Path, make: object) -> None:
    folder = make(tmp_path)  # type: ignore[operator]
    process = _run(["manage.py", "doctor"], folder)
    assert _is_one_line(process, folder), process.stderr


def test_a_folder_that_cannot_be_written_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CREWSHIP_DATA_DIR", str(tmp_path))
    # Whoever runs the tests may be allowed everything.
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(SystemExit) as caught:
        own_settings._data_dir()
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


# ── Who can read it ──────────────────────────────────────────────────────────
def _modes(folder: Path) -> dict[str, str]:
    """Return what other accounts may do, path by path; empty when it is nothing."""
    paths = [folder, *folder.rglob("*")]
    return {
        str(path): oct(mode)
        for path in paths
        if not path.is_symlink()
        and (mode := stat.S_IMODE(path.lstat().st_mode)) & key_files.GROUP_AND_OTHERS
    }


def test_what_we_write_is_for_us_alone(
    world: World, tmp_path: Path, settings: Settings
) -> None:
    tmp_path.chmod(0o700)
    settings.DATA_DIR = tmp_path
    kit.write(world, "Refunds end at $200.")
    with file_paths.file_store().locked("a name"):
        assert _modes(tmp_path) == {}


@pytest.mark.sqlite
def test_the_database_and_its_log_are_for_us_alone(transactional_db: None) -> None:
    name = str(connection.settings_dict["NAME"])
    files = [Path(f"{name}{end}") for end in data_folder.DATABASE_SUFFIXES]
    modes = {p.name: oct(p.stat().st_mode & 0o777) for p in files if p.exists()}
    assert len(modes) >= 2
    assert set(modes.values()) == {"0o600"}


def test_a_bundle_is_for_us_alone_also_over_an_old_file(
    world: World, tmp_path: Path, settings: Settings
) -> None:
    (tmp_path / "data").mkdir()
    settings.DATA_DIR = tmp_path / "data"
    kit.write(world, "Refunds end at $200.")
    target = tmp_path / "bundle.zip"
    target.write_text("old")
    target.chmod(0o644)
    call_command("memory_export", str(target), "--workspace", "acme")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert zipfile.is_zipfile(target)
    call_command("memory_export", str(tmp_path / "tree"), "--workspace", "acme")
    assert _modes(tmp_path / "tree") == {}


def test_what_others_could_read_is_tightened(
    tmp_path: Path, settings: Settings
) -> None:
    (tmp_path / "keys").mkdir(mode=0o755)
    path = tmp_path / "keys" / "journal.key"
    path.write_text("secret")
    path.chmod(0o644)
    tmp_path.chmod(0o755)
    settings.DATA_DIR = tmp_path
    assert str(tmp_path) in str(data_folder.exposed())
    assert doctor._permissions().level == "fail"
    assert data_folder.make_private() is None
    assert (_modes(tmp_path), data_folder.exposed()) == ({}, None)
    assert doctor._permissions().level == "ok"


def test_a_link_out_of_the_folder_is_left_alone(
    tmp_path: Path, settings: Settings
) -> None:
    data, outside = tmp_path / "data", tmp_path / "outside"
    data.mkdir(mode=0o700)
    outside.write_text("somebody else's")
    outside.chmod(0o644)
    (data / "link").symlink_to(outside)
    settings.DATA_DIR = data
    assert data_folder.make_private() is None
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644


def test_what_cannot_be_tightened_is_named(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "open"
    path.write_text("everybody's")
    path.chmod(0o644)
    settings.DATA_DIR = tmp_path

    def refuse(self: Path, _mode: int) -> None:
        raise PermissionError

    tmp_path.chmod(0o700)
    monkeypatch.setattr(Path, "chmod", refuse)
    assert f"Others can still read {path}" in str(data_folder.make_private())


@pytest.mark.slow
@pytest.mark.sqlite
def test_up_refuses_the_folder_of_another_account(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    os.chown(folder, 65534, -1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    process = _run(["manage.py", "up", "--port", port], folder)
    assert _is_one_line(process, folder), process.stderr
    assert "belongs to another account" in process.stderr

"""The first start, as processes: one id, one set of keys, whoever comes and dies."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.sqlite]
PROCESSES = 4


class Place:
    """An installation that was not there before: a database and folders."""

    def __init__(self, root: Path, migrated: Path) -> None:
        self.root, self._migrated = root, migrated
        self.use_database("shared.sqlite3")

    def use_database(self, name: str) -> None:
        """Start from here on with a database that has nothing but its tables."""
        self.database = f"sqlite:///{shutil.copy(self._migrated, self.root / name)}"

    def start(self, step: str, folder: str) -> subprocess.Popen[str]:
        environment = {
            **os.environ,
            "CREWSHIP_DATA_DIR": str(self.root / folder),
            "DATABASE_URL": self.database,
        }
        return subprocess.Popen(
            [sys.executable, "-m", "tests.memory.installation.starter", step],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )

    def _wait(self, step: str, folder: str) -> int:
        child = self.start(step, folder)
        child.communicate()
        return child.returncode

    def killed(self, step: str) -> bool:
        return self._wait(step, "data") == -signal.SIGKILL

    def ask(self, folder: str = "data") -> dict[str, Any]:
        return dict(json.loads(self.start("", folder).communicate()[0]))


@pytest.fixture
def place(tmp_path: Path, migrated_database: Path) -> Place:
    return Place(tmp_path, migrated_database)


def test_processes_that_begin_together_agree(place: Place) -> None:
    children = [place.start("", "data") for _ in range(PROCESSES)]
    reports = [json.loads(child.communicate()[0]) for child in children]
    assert {report["problem"] for report in reports} == {None}
    assert len({report["id"] for report in reports}) == 1
    assert len({tuple(report["keys"]) for report in reports}) == 1
    assert all(reports[0]["keys"])
    names = sorted(path.name for path in (place.root / "data" / "keys").iterdir())
    assert names == [
        "exports.key", "gateway.key", "installation.id", "journal.key", "secret.key",
    ]  # fmt: skip


def test_of_two_folders_that_begin_together_one_wins(place: Place) -> None:
    children = [place.start("", name) for name in ("data", "other")]
    reports = [json.loads(child.communicate()[0]) for child in children]
    (refusal,) = [report for report in reports if report["problem"]]
    (ready,) = [report for report in reports if not report["problem"]]
    assert "CREWSHIP_DATA_DIR" in refusal["problem"]
    loser = "other" if ready == reports[0] else "data"
    assert list((place.root / loser / "keys").iterdir()) == []
    assert not (place.root / loser / "files").exists()


@pytest.mark.parametrize("step", ["marked", "recorded"])
def test_a_first_start_that_was_killed_is_finished_by_the_next(
    place: Place, step: str
) -> None:
    assert place.killed(step)
    key_text = (place.root / "data" / "keys" / "journal.key").read_text()
    first, second = place.ask(), place.ask()
    assert first["problem"] is None
    assert key_text in first["keys"]
    assert first == second


def test_a_second_machine_with_a_folder_of_its_own_is_refused(place: Place) -> None:
    ready = place.ask()
    report = place.ask("other")
    assert ready["problem"] is None
    assert "set CREWSHIP_DATA_DIR to the folder" in report["problem"]
    assert report["keys"][1:] == ["", "", ""]
    assert place.ask() == ready


def test_a_new_database_does_not_take_over_a_folder_with_memory(place: Place) -> None:
    place.ask()
    (place.root / "data" / "files" / "shop").mkdir()
    place.use_database("fresh.sqlite3")
    assert "this database is a new one" in place.ask()["problem"]

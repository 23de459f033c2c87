"""Imports point down: the contracts of pyproject.toml hold, and would notice a breach."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.source import APPS, ROOT


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts of a checkout."""
    command = "import sys; from importlinter import cli; sys.exit(cli.lint_imports())"
    return subprocess.run(
        [sys.executable, "-c", command.replace("()", "(no_cache=True)", 1)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_the_floors_and_rooms_hold() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "line", "contract"),
    [
        ("memory/keys.py", "import episodic.recall", "Floors of the house BROKEN"),
        ("memory/journal.py", "import memory.queries", "Rooms of memory BROKEN"),
        ("episodic/engine.py", "import episodic.index", "Rooms of episodic BROKEN"),
        ("memory/rules/words.py", "import django.db", "Pure rooms know no framework BROKEN"),
        ("memory/stairs.py", "import json", "Rooms of memory BROKEN"),
    ],
)
def test_a_planted_breach_is_noticed(
    tmp_path: Path, path: str, line: str, contract: str
) -> None:
    for app in APPS:
        shutil.copytree(ROOT / app, tmp_path / app)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / path).open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    done = lint(tmp_path)
    assert done.returncode == 1
    assert contract in done.stdout

"""Imports point down: the contracts of pyproject.toml hold, and notice a breach."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.source import APPS, ROOT


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
def test_the_contracts_hold() -> None:
    process = lint(ROOT)
    assert process.returncode == 0, process.stdout


BREACHES = {
    "memory/accounts/api_keys.py": ("import episodic.recall.search", "Packages"),
    "memory/journal/append.py": (
        "import memory.accounts.api_keys",
        "Folders of memory",
    ),
    "memory/unlisted.py": ("import json", "Folders of memory"),
    "episodic/index/engine.py": (
        "import episodic.recall.search",
        "Folders of episodic",
    ),
    "gdpr/models/cases.py": ("import gdpr.cases.workflow", "Folders of gdpr"),
    "memory/stored_files/store.py": (
        "import memory.stored_files.folder",
        "No circles",
    ),
    "memory/rules/tokenizer.py": ("import django.db", "Pure folders know no framework"),
    "memory/rules/hashing.py": ("import httpx", "Rules know no network"),
}


@pytest.mark.slow
def test_planted_breaches_are_noticed(tmp_path: Path) -> None:
    large = shutil.ignore_patterns("*.onnx", "__pycache__")
    for app in APPS:
        shutil.copytree(ROOT / app, tmp_path / app, ignore=large)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for path, (line, _) in BREACHES.items():
        with (tmp_path / path).open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")
    process = lint(tmp_path)
    assert process.returncode == 1
    for _, contract in BREACHES.values():
        assert f"{contract} BROKEN" in process.stdout
    assert "memory.unlisted" in process.stdout

"""The command line of the mutation run."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.project.source import ROOT


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (["--help"], 0, "usage"),
        (["memory/journal/head.py"], 2, "name the tests to run"),
        (["--", "tests/memory"], 2, "required: files"),
    ],
)
def test_what_is_missing_is_named(arguments: list[str], status: int, text: str) -> None:
    process = subprocess.run(
        [sys.executable, ROOT / ".ci/mutation.py", *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert process.returncode == status
    assert text in process.stdout + process.stderr

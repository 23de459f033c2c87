"""The README's test command is what runs everything, here and in `.ci/run`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests import conftest, processes
from tests.browser.conftest import CHROMIUM
from tests.project.source import ROOT

# A test that drives a page and then, in the same process, one that starts a loop.
BROWSER = (
    "tests/browser/test_accessibility.py::test_the_keyboard_reaches_the_content_first"
)
LOOP = "tests/memory/gateway/test_client.py::test_the_exact_requests"


def readme_command() -> str:
    """Return the one line of the block below **Test it:**."""
    block = (ROOT / "README.md").read_text().split("**Test it:**\n\n```sh\n")[1]
    return block.split("\n```")[0]


def test_ci_runs_the_command_as_the_readme_has_it() -> None:
    command = readme_command()
    assert command.endswith(" && .venv/bin/pytest")
    assert "\n" not in command
    printed = subprocess.run(
        ["bash", ".ci/run", "command"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert printed == f"{command}\n"
    script = (ROOT / ".ci" / "run").read_text()
    assert script.count('bash -c "$COMMAND"') == 1


def test_a_plain_run_uses_the_cores() -> None:
    """Nothing has to be typed for it: files go to as many processes as there are."""
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]
    addopts = options["ini_options"]["addopts"].split()
    assert addopts[:2] == ["-n", "auto"]
    assert "--dist=loadfile" in addopts


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
def test_a_browser_test_leaves_no_loop_to_the_next(migrated_database: Path) -> None:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "DJANGO_")) and name != "DATABASE_URL"
    } | {"TESTS_FOLDER": str(migrated_database.parent)}
    process = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:randomly", BROWSER, LOOP],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed" in process.stdout, process.stdout[-4_000:]


# ── What a test leaves ───────────────────────────────────────────────────────
def test_links_that_a_test_made_in_the_data_folder_go(tmp_path: Path) -> None:
    outside, data = tmp_path / "outside", tmp_path / "data"
    (data / "files").mkdir(parents=True)
    outside.mkdir()
    (outside / "kept").touch()
    (data / "files" / "acme").symlink_to(outside)
    (data / "exports").symlink_to(outside)
    conftest._empty(data)
    assert not [path for path in data.rglob("*") if path.is_symlink()]
    assert (outside / "kept").exists()


@pytest.mark.slow
@pytest.mark.django_db
def test_a_process_that_does_not_end_fails_the_test_that_reads_from_it() -> None:
    child = processes.Child(processes._run_code, "import time; time.sleep(900)")
    with pytest.raises(TimeoutError):
        child.communicate(timeout=0.1)
    child.wait()
    assert child.returncode == -signal.SIGKILL

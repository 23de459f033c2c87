"""One list of checks: CI, the hooks before a commit and the hosted run take it."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from typing import Any, Final

import pytest

from tests.project.source import ROOT

RUN: Final = (ROOT / ".ci/run").read_text(encoding="utf-8")
HOOKS: Final = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
WORKFLOW: Final = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
PROJECT: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text())
# What has to be among the checks, by the command that makes each.
COMMANDS: Final = {
    "lint": "ruff check .",
    "format": "ruff format --check .",
    "names": "plain_names.py --limit 5",
    "types": "mypy .",
    "imports": "lint-imports",
    "templates": "djlint --lint",
    "system": "manage check --deploy",
    "migrations": "manage makemigrations --check",
}


def ci(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run .ci/check; it has no need of the caller's environment."""
    return subprocess.run(
        ["bash", ".ci/check", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def names() -> list[str]:
    """Return the names of the checks, as the script lists them."""
    return ci("--list").stdout.split()


def test_every_tool_of_the_project_is_among_the_checks() -> None:
    script = (ROOT / ".ci/check").read_text(encoding="utf-8")
    branches = dict(re.findall(r"^    (\w+)\) (.+) ;;$", script, re.MULTILINE))
    assert list(branches) == names() == list(COMMANDS)
    for name, command in COMMANDS.items():
        assert command in branches[name]


def test_an_unknown_check_is_no_check_that_passed() -> None:
    process = ci("lint-harder")
    assert process.returncode == 2
    assert "lint-harder" not in names()
    assert "usage" in process.stderr


def test_ci_makes_each_of_them_and_has_none_of_its_own() -> None:
    assert 'CHECKS="$(.ci/check --list)"' in RUN
    assert 'for name in $CHECKS; do step "$name" .ci/check "$name"; done' in RUN
    tools = re.compile(r"^[^#]*(ruff|mypy|lint-imports|djlint|makemigrations)", re.M)
    assert tools.findall(RUN) == []


def test_the_hooks_are_the_same_list() -> None:
    assert re.findall(r"^ +- id: (\w+)$", HOOKS, re.MULTILINE) == names()
    entries = [f".ci/check {name}" for name in names()]
    assert re.findall(r"^ +entry: (.+)$", HOOKS, re.MULTILINE) == entries


def test_the_hooks_are_local_and_see_the_whole_checkout() -> None:
    count = len(names())
    assert re.findall(r"^ +- repo: (.+)$", HOOKS, re.MULTILINE) == ["local"]
    assert HOOKS.count("language: system\n") == count
    assert HOOKS.count("pass_filenames: false\n") == count


@pytest.mark.slow
def test_pre_commit_takes_the_file() -> None:
    command = [sys.executable, "-m", "pre_commit", "validate-config"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")


def test_the_hosted_run_is_ours_with_the_least_rights() -> None:
    assert re.findall(r"^ +- run: (.+)$", WORKFLOW, re.MULTILINE) == [".ci/run"]
    assert WORKFLOW.count("run:") == 2  # the step, and the job that is called so
    permissions = WORKFLOW.split("\npermissions:\n")[1].split("\n\n")[0]
    assert permissions.strip() == "contents: read"
    assert WORKFLOW.count("permissions:") == 1
    assert "persist-credentials: false" in WORKFLOW
    assert "pull_request_target" not in WORKFLOW
    assert "secrets." not in WORKFLOW


def test_the_hosted_run_takes_exact_versions() -> None:
    actions = re.findall(r"uses: (\S+)", WORKFLOW)
    assert actions
    for action in actions:
        assert re.fullmatch(r"actions/[a-z-]+@v\d+\.\d+\.\d+", action)
    [python] = re.findall(r'python-version: "(\d\.\d+)"', WORKFLOW)
    assert PROJECT["project"]["requires-python"].startswith(f">={python},")


def test_ci_prints_the_slowest_tests_and_measures_what_the_tests_cover() -> None:
    assert 'SLOWEST="--durations=20"' in RUN
    runs = re.findall(r"^ +(?:step|env|\.venv).*(?:PYTEST|COMMAND).*$", RUN, re.M)
    assert len(runs) == 3
    assert all("$SLOWEST" in run for run in runs)
    # Where a part of the tests is left out, less is covered.
    assert [run for run in runs if "--cov" in run] == [
        run for run in runs if 'bash -c "$COMMAND"' in run
    ]


def test_the_floor_of_coverage_is_a_figure_to_keep() -> None:
    coverage = PROJECT["tool"]["coverage"]
    assert coverage["run"]["branch"] is True
    assert coverage["report"]["fail_under"] >= 90

"""The pages for those who join say nothing that is not there."""

from __future__ import annotations

import re
import tomllib
from typing import Final

import pytest
from django.core.management import get_commands

from tests.project import pages, source
from tests.project.test_checks import ci
from tests.project.test_sizes import FILE, FUNCTION, TEST_FILE

PAGES: Final = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
PROJECT: Final = tomllib.loads((source.ROOT / "pyproject.toml").read_text())


def text(page: str) -> str:
    return (source.ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("document", pages.PAGES)
def test_every_command_exists(document: str) -> None:
    commands = set(re.findall(r"manage\.py ([a-z_]+)", text(document))) - {"version"}
    assert commands <= set(get_commands())
    tools = re.findall(r"\.venv/bin/([\w-]+)", text(document))
    requirements = [
        *text("requirements.txt").splitlines(),
        *PROJECT["dependency-groups"]["dev"],
    ]
    installed = {"python", "pip", "lint-imports"} | {
        re.split("[=[]", requirement)[0] for requirement in requirements
    }
    assert set(tools) <= installed
    checks = re.findall(r"`\.ci/check (\w+)`", text(document))
    assert set(checks) <= set(ci("--list").stdout.split())


def test_the_architecture_names_every_package_and_the_picture() -> None:
    page = text("ARCHITECTURE.md")
    for app in source.APPS:
        assert f"| `{app}/` |" in page
    assert "](.github/architecture.svg)" in page


def test_the_ways_up_are_those_that_are_told() -> None:
    page = text("ARCHITECTURE.md")
    assert "`entry_appended`" in page
    append = text("memory/journal/append.py")
    assert re.search(r"^entry_appended = Signal\(\)", append, re.MULTILINE)
    for name in ("episodic/connect.py", "gdpr/connect.py"):
        assert "from memory.ports import" in text(name)


def test_contributors_are_told_the_sizes_that_are_tested() -> None:
    page = " ".join(text("CONTRIBUTING.md").split())
    assert f"at most {FUNCTION} lines, a file {FILE} (a test's {TEST_FILE})" in page


def test_the_changelog_has_kinds_that_its_format_knows() -> None:
    page = text("CHANGELOG.md")
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.+)$", page, re.MULTILINE)) <= kinds
    heads = re.findall(r"^## (.+)$", page, re.MULTILINE)
    assert heads[0] == "[Unreleased]"
    form = r"\[\d+\.\d+\.\d+\] - (\d{4}-\d\d-\d\d|unreleased)"
    assert all(re.fullmatch(form, head) for head in heads[1:])


def test_security_names_what_anybody_can_read() -> None:
    page = text("SECURITY.md")
    for path in ("`/livez`", "`/readyz`", "`/metrics`"):
        assert path in page

"""The version stands in one line, and everything that shows it shows that line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from crewship_memory.version import VERSION
from tests.memory.promptkit import speak
from tests.project.source import ROOT
from tests.world import World

FOOT = f'<p class="version">Crewship Memory {VERSION}</p>'


def _text(response: Any) -> str:
    return str(response.content.decode())


def test_it_is_a_semantic_version() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+(-[0-9a-z.]+)?", VERSION)


def test_the_project_file_has_none_of_its_own() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "version" not in project
    assert project["dynamic"] == ["version"]


def test_the_changelog_has_a_section_for_it() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \[(.+?)\]", text, re.MULTILINE)[:2] == [
        "Unreleased",
        VERSION,
    ]


@pytest.mark.slow
@pytest.mark.parametrize("argument", ["version", "--version"])
def test_the_command_prints_it_where_nothing_else_works(
    tmp_path: Path, argument: str
) -> None:
    folder = tmp_path / "data"
    printed = subprocess.run(
        [sys.executable, "manage.py", argument],
        cwd=ROOT,
        env=os.environ | {"CREWSHIP_DATA_DIR": str(folder), "DATABASE_URL": "nonsense"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert printed == f"{VERSION}\n"
    assert not folder.exists()


def test_readyz_says_it(db: None) -> None:
    assert Client().get("/readyz").json()["version"] == VERSION


def test_the_document_of_the_api_has_it(world: World) -> None:
    document = json.loads(Client().get("/api/v1/openapi.json").content)
    assert document["info"]["version"] == VERSION


def test_an_mcp_client_is_told(world: World) -> None:
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "somebody", "version": "9.9.9"},
    }
    answer = speak(Client(), world.tokens["ada"], "initialize", params)["result"]
    assert answer["serverInfo"]["version"] == VERSION


@pytest.mark.parametrize("path", ["/", "/journal/", "/privacy/cases/", "/no/such/"])
def test_it_stands_once_in_the_foot_of_a_page(world: World, path: str) -> None:
    assert _text(world.page("owner").get(path)).count(FOOT) == 1


def test_it_stands_in_the_foot_of_the_raw_tables(world: World) -> None:
    user = world.people["owner"]
    user.is_staff = user.is_superuser = True
    user.save()
    assert _text(world.page("owner").get("/admin/")).count(FOOT) == 1


@pytest.mark.parametrize("path", ["/accounts/login/", "/certificates/check/", "/no/"])
def test_a_stranger_sees_none_on_a_page(world: World, path: str) -> None:
    page = _text(Client().get(path))
    assert 'class="version"' not in page
    assert VERSION not in page

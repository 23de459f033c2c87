"""Anthropic's memory tool: the example subclass with the real class, edge cases."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from memory.integrations.anthropic import filesystem
from memory.models import HeldFile, Record
from memory.rules import errors
from tests.integrations.conftest import RunClient
from tests.world import ATTACK, World

NOTES = "/memories/notes.md"


@pytest.mark.clients
def test_the_example_runs_the_six_commands(client: RunClient) -> None:
    run = client("anthropic", "anthropic_round_trip")
    assert run.failed == []
    commands = {"view", "create", "str_replace", "insert", "delete", "rename"}
    assert commands <= {call["call"] for call in run.calls}


def _run(world: World, agent: str = "ada", **body: Any) -> Any:
    return Client(enforce_csrf_checks=True).post(
        "/compat/anthropic/memory",
        json.dumps(body),
        content_type="application/json",
        headers={"Authorization": f"Bearer {world.tokens.get(agent, 'cmk_wrong')}"},
    )


def _create(world: World, text: str = "tea", path: str = NOTES) -> None:
    reply = _run(world, command="create", path=path, file_text=text)
    assert reply.status_code == 200, reply.content


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({"command": "dream", "path": NOTES}, 400, "invalid_request_error"),
        ({"command": "view"}, 400, "invalid_request_error"),
        ({"command": "view", "path": NOTES, "x": 1}, 400, "invalid_request_error"),
        ({"command": "view", "path": NOTES}, 400, "invalid_request_error"),
        ({"command": "create", "path": NOTES, "file_text": "x" * 70_000}, 413, ""),
        ({"command": "create", "path": "/memories", "file_text": "x"}, 400, ""),
        ({"command": "create", "path": NOTES, "file_text": ""}, 400, ""),
        ({"command": "delete", "path": NOTES}, 400, ""),
    ],
)
def test_a_refusal_has_anthropics_shape(
    world: World, body: dict[str, Any], status: int, kind: str
) -> None:
    reply = _run(world, **body)
    assert reply.status_code == status, reply.content
    error_body = reply.json()
    assert error_body["type"] == "error" and error_body["error"]["message"]
    assert error_body["error"]["type"].startswith(kind)


def test_who_may(world: World) -> None:
    _create(world)
    assert _run(world, "nobody", command="view", path=NOTES).status_code == 401
    assert _run(world, "owner", command="view", path=NOTES).status_code == 403
    assert _run(world, "reader", command="view", path=NOTES).status_code == 200
    reply = _run(world, "reader", command="delete", path=NOTES)
    assert reply.status_code == 403
    for agent in ("bob", "olga"):
        reply = _run(world, agent, command="view", path=NOTES)
        assert "does not exist" in reply.json()["error"]["message"]


def test_an_edit_is_a_version_and_a_delete_takes_the_words(world: World) -> None:
    _create(world, "pomegranate tea")
    command = {"command": "str_replace", "path": NOTES, "old_str": "tea"}
    assert _run(world, **command, new_str="juice").status_code == 200
    row = Record.objects.get(external_id="notes.md")
    assert (row.version, row.content) == (2, "pomegranate juice")
    assert row.provenance == "user_requested"
    assert _run(world, command="delete", path=NOTES).status_code == 200
    row.refresh_from_db()
    assert (row.status, row.content) == ("forgotten", "")


@pytest.mark.parametrize(
    ("old", "lines"), [("b", "2, 3, 5"), ("\nb", "1, 2, 4"), ("b\n", "2, 3")]
)
def test_a_text_that_stands_twice_is_told_by_its_lines(
    world: World, old: str, lines: str
) -> None:
    _create(world, "a\nb b\nb\na\nb")
    command = {"command": "str_replace", "path": NOTES, "old_str": old, "new_str": "c"}
    message = _run(world, **command).json()["error"]["message"]
    assert f"in lines: {lines}. Please" in message


def test_hostile_text_is_held(world: World) -> None:
    before = HeldFile.objects.count()
    reply = _run(world, command="create", path=NOTES, file_text=ATTACK)
    assert 400 <= reply.status_code < 500
    assert "evil.example" not in reply.content.decode()
    assert HeldFile.objects.count() == before + 1
    reply = _run(world, command="view", path="/memories")
    assert "notes.md" not in reply.json()["content"]


def test_a_folder_moves_with_all_in_it(world: World) -> None:
    for name in ("a/one", "a/b/two", "ab/three"):
        _create(world, name, f"/memories/{name}")
    command = {
        "command": "rename",
        "old_path": "/memories/a",
        "new_path": "/memories/z",
    }
    assert _run(world, **command).status_code == 200
    tree = _run(world, command="view", path="/memories").json()["content"]
    assert [line.partition("\t")[2] for line in tree.split("\n")[2:]] == [
        "/memories/ab/",
        "/memories/ab/three",
        "/memories/z/",
        "/memories/z/b/",
        "/memories/z/one",
    ]
    inside = {"command": "rename", "old_path": "/memories/z"}
    reply = _run(world, **inside, new_path="/memories/z/deeper")
    assert reply.status_code == 400


@given(st.text(alphabet="ab./\\%\x00\n ", max_size=12))
def test_a_path_is_a_plain_name_or_refused(rest: str) -> None:
    try:
        name = filesystem.relative_name(f"/memories/{rest}")
    except errors.Invalid:
        return
    parts = name.split("/")
    assert name == "" or not {"", ".", ".."} & set(parts)
    assert "\\" not in name and "\x00" not in name
    assert (
        filesystem.relative_name(f"/memories/{name}" if name else "/memories") == name
    )

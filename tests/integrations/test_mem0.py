"""mem0: its own client through eleven calls, and edge cases."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from memory.integrations.mem0 import filters
from memory.models import Record
from memory.rules import errors
from tests.integrations.conftest import RunClient
from tests.world import ATTACK, World

AT = "/compat/mem0"
CALLS = (
    *("ping", "add", "search", "get all", "get", "update", "history", "delete"),
    *("users", "delete all", "delete users"),
)


@pytest.mark.clients
def test_the_real_client_makes_its_eleven_calls(client: RunClient) -> None:
    run = client("mem0", "mem0_round_trip")
    assert run.failed == []
    calls = {call["call"] for call in run.calls}
    assert set(CALLS) <= calls


# ── By hand ──────────────────────────────────────────────────────────────────
def _send(
    world: World, method: str, path: str, body: Any = None, agent: str = "ada"
) -> Any:
    client = Client(enforce_csrf_checks=True)
    return client.generic(
        method,
        f"{AT}{path}",
        "" if body is None else json.dumps(body),
        content_type="application/json",
        headers={"Authorization": f"Token {world.tokens.get(agent, 'cmk_wrong')}"},
    )


def _add(world: World, text: str, agent: str = "ada", **fields: Any) -> dict[str, Any]:
    body = {"messages": text, "user_id": "harriet", **fields}
    reply = _send(world, "POST", "/v3/memories/add/", body, agent)
    assert reply.status_code == 200, reply.content
    return dict(reply.json()["results"][0])


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/v3/memories/add/", {"messages": "x"}, 400),
        ("POST", "/v3/memories/add/", {"user_id": "harriet"}, 400),
        ("POST", "/v3/memories/add/", {"messages": 7, "user_id": "h"}, 400),
        ("POST", "/v3/memories/add/", {"messages": "x", "user_id": 7}, 400),
        ("POST", "/v3/memories/search/", {"query": "x"}, 400),
        ("POST", "/v3/memories/search/", {"query": "", "user_id": "h"}, 400),
        ("GET", "/v1/memories/rec_0000000000000000/", None, 404),
        ("GET", "/v1/memories/rec_0000000000000000/history/", None, 404),
        ("DELETE", "/v1/memories/rec_0000000000000000/", None, 404),
        ("DELETE", "/v1/memories/", None, 400),
        ("DELETE", "/v2/entities/user/nobody/", None, 404),
        ("DELETE", "/v2/entities/planet/mars/", None, 404),
        ("PUT", "/v3/memories/add/", {}, 405),
        ("POST", "/v9/nothing/", {}, 404),
    ],
)
def test_a_refusal_has_a_detail(
    world: World, method: str, path: str, body: Any, status: int
) -> None:
    for at in (path, path.rstrip("/")):
        reply = _send(world, method, at, body)
        assert reply.status_code == status, reply.content
        assert isinstance(reply.json()["detail"], str)


def test_a_wrong_key_is_refused_and_not_repeated(world: World) -> None:
    reply = _send(world, "GET", "/v1/ping/", agent="nobody")
    assert reply.status_code == 401
    assert b"cmk_wrong" not in reply.content


def test_a_persons_key_has_no_memory_here(world: World) -> None:
    body = {"messages": "x", "user_id": "harriet"}
    assert _send(world, "POST", "/v3/memories/add/", body, "owner").status_code == 403
    read_only = _send(world, "POST", "/v3/memories/add/", body, "reader")
    assert read_only.status_code == 403


def test_another_agents_memory_is_not_there(world: World) -> None:
    memory_id = _add(world, "Harriet likes tea")["id"]
    for agent in ("bob", "olga"):
        for method in ("GET", "DELETE"):
            reply = _send(world, method, f"/v1/memories/{memory_id}/", agent=agent)
            assert reply.status_code == 404
        body = {"query": "tea", "filters": {"user_id": "harriet"}}
        results = _send(world, "POST", "/v3/memories/search/", body, agent).json()
        assert results == {"results": []}
    assert Record.objects.get(pk=memory_id).status == "current"


def test_a_caller_cannot_choose_the_provenance(world: World) -> None:
    memory = _add(
        world, "Harriet likes tea", metadata={"provenance": "operator_curated"}
    )
    assert Record.objects.get(pk=memory["id"]).provenance == "agent_extracted"


def test_a_conversation_leaves_what_the_user_said(world: World) -> None:
    turns = [
        {"role": "user", "content": "My name is Harriet. What is the time?"},
        {"role": "assistant", "content": "I love clocks."},
        {"role": "user", "content": "The kiln in Porto was booked."},
    ]
    body: dict[str, Any] = {"messages": turns, "user_id": "harriet"}
    results = _send(world, "POST", "/v3/memories/add/", body).json()["results"]
    texts = [row["memory"] for row in results]
    assert texts == ["My name is Harriet.", "The kiln in Porto was booked."]
    body = {**body, "infer": False, "user_id": "omar"}
    results = _send(world, "POST", "/v3/memories/add/", body).json()["results"]
    assert [row["memory"] for row in results] == [turn["content"] for turn in turns]


def test_a_hostile_statement_is_held_and_not_remembered(world: World) -> None:
    body = {"messages": ATTACK, "user_id": "harriet", "infer": False}
    reply = _send(world, "POST", "/v3/memories/add/", body)
    assert 400 <= reply.status_code < 500
    assert "evil.example" not in reply.content.decode()
    body = {"filters": {"user_id": "harriet"}}
    assert _send(world, "POST", "/v3/memories/", body).json()["count"] == 0


def test_a_memory_expires_at_the_end_of_its_day(world: World) -> None:
    memory_id = _add(world, "Passing", expiration_date="2001-01-01")["id"]
    assert _send(world, "GET", f"/v1/memories/{memory_id}/").status_code == 404
    memory_id = _add(world, "Lasting", expiration_date="2999-12-31")["id"]
    row = _send(world, "GET", f"/v1/memories/{memory_id}/").json()
    assert row["expiration_date"] == "2999-12-31"
    path = f"/v1/memories/{memory_id}/"
    assert _send(world, "PUT", path, {"expiration_date": None}).status_code == 200
    assert _send(world, "GET", path).json()["expiration_date"] is None


def test_several_at_once_or_none(world: World) -> None:
    ids = [_add(world, text)["id"] for text in ("One fish", "Two lamps")]
    unknown = {"memory_id": "rec_0000000000000000", "text": "x"}
    updates = [
        {"memory_id": memory_id, "text": f"Changed {n}"}
        for n, memory_id in enumerate(ids)
    ]
    reply = _send(world, "PUT", "/v1/batch/", {"memories": [*updates, unknown]})
    assert reply.status_code == 404
    assert Record.objects.get(pk=ids[0]).content == "One fish"
    assert _send(world, "PUT", "/v1/batch/", {"memories": updates}).status_code == 200
    assert Record.objects.get(pk=ids[0]).content == "Changed 0"
    body = {"memories": [{"memory_id": memory_id} for memory_id in ids]}
    assert _send(world, "DELETE", "/v1/batch/", body).status_code == 200
    assert _send(world, "GET", f"/v1/memories/{ids[0]}/").status_code == 404


def test_a_bare_text_may_be_long(world: World) -> None:
    text = "The kiln in Porto was booked " + "again " * 60
    assert _add(world, text, infer=False)["memory"] == text


@pytest.mark.parametrize("texts", [["x"] * 201, [f"Thing {n}" for n in range(101)]])
def test_one_request_adds_so_much_and_no_more(world: World, texts: list[str]) -> None:
    turns = [{"role": "user", "content": text} for text in texts]
    body = {"messages": turns, "user_id": "harriet", "infer": False}
    assert _send(world, "POST", "/v3/memories/add/", body).status_code == 400
    assert Record.objects.count() == 0


def test_pages_end(world: World) -> None:
    for number in range(5):
        _add(world, f"Fact number {number}")
    ids: list[str] = []
    path = "/v1/memories/?user_id=harriet&page_size=2&page="
    for page in range(1, 5):
        data = _send(world, "GET", f"{path}{page}").json()
        ids += [row["id"] for row in data["results"]]
        assert (data["next"] is None) == (page >= 3)
        assert data["count"] == 5
    assert len(ids) == len(set(ids)) == 5


# ── Filters ──────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("raw_filters", "scope", "expression"),
    [
        (None, {}, None),
        ({"user_id": "h", "app_id": "x"}, {"user": "h", "namespace": "x"}, None),
        ({"user_id": "*"}, {}, None),
        ({"user_id": {"in": ["h"]}}, {"user": "h"}, None),
        (
            {"AND": [{"user_id": "h"}, {"run_id": "r"}]},
            {"user": "h", "thread": "r"},
            None,
        ),
        (
            {"metadata": {"mood": "calm"}},
            {},
            {"field": "metadata.mood", "op": "eq", "value": "calm"},
        ),
        (
            {"created_at": {"gte": "2026-01-01T00:00:00Z"}},
            {},
            {"field": "created_at", "op": "gte", "value": "2026-01-01T00:00:00Z"},
        ),
        (
            {"OR": [{"memory": "a"}, {"memory": {"contains": "b"}}]},
            {},
            {
                "or": [
                    {"field": "content", "op": "eq", "value": "a"},
                    {"field": "content", "op": "contains", "value": "b"},
                ]
            },
        ),
    ],
)
def test_a_filter_is_read(raw_filters: Any, scope: Any, expression: Any) -> None:
    assert filters.read(raw_filters) == (scope, expression)


@pytest.mark.parametrize(
    "raw_filters",
    [
        {"mood": "calm"},
        {"memory": {"$gt": 1}},
        {"OR": [{"user_id": "a"}, {"user_id": "b"}]},
        {"NOT": [{"user_id": "a"}]},
        {"AND": []},
        {"AND": {"user_id": "a"}},
        {"AND": [{"user_id": "a"}, {"user_id": "b"}]},
        {"user_id": 7},
        {"user_id": ""},
        {"user_id": {"in": 5}},
        {"user_id": {"in": {"a": 1}}},
        {"user_id": {"in": []}},
        {"user_id": {"in": ["a", "b"]}},
        {"OR": [{}, {"memory": "a"}]},
        {"NOT": [{"metadata": {}}]},
        {"metadata": "calm"},
        {"AND": [{"AND": [{"AND": [{"AND": [{"AND": [{"AND": [{"AND": []}]}]}]}]}]}]},
    ],
)
def test_an_unknown_filter_is_refused(raw_filters: Any) -> None:
    with pytest.raises(errors.Invalid, match="filters: "):
        filters.read(raw_filters)

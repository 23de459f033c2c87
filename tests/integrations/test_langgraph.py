"""LangGraph's store: its own client, and edge cases."""

from __future__ import annotations

import json
import operator
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from memory.integrations.langgraph import filters
from memory.integrations.langgraph import routes as langgraph
from memory.models import HeldFile, Record
from memory.rules import errors
from tests.integrations.conftest import RunClient
from tests.world import ATTACK, World

AT = "/compat/langgraph/store"
ITEM = {"namespace": ["users", "harriet"], "key": "tea"}


@pytest.mark.clients
def test_the_real_client_uses_its_store(client: RunClient) -> None:
    run = client("langgraph", "langgraph_round_trip")
    assert run.failed == []
    calls = {"put", "get", "search", "namespaces", "delete"}
    assert calls <= {call["call"] for call in run.calls}


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
        headers={"X-Api-Key": world.tokens.get(agent, "cmk_wrong")},
    )


def _put(world: World, value: Any, agent: str = "ada", **fields: Any) -> Any:
    return _send(world, "PUT", "/items", {**ITEM, "value": value, **fields}, agent)


def _get(world: World, agent: str = "ada", key: str = "tea") -> Any:
    query = urlencode({"key": key, "namespace": ".".join(ITEM["namespace"])})
    return _send(world, "GET", f"/items?{query}", agent=agent)


def test_an_item_is_a_record_with_versions(world: World) -> None:
    assert _put(world, {"cups": 3}).status_code == 204
    assert _put(world, {"cups": 4}).status_code == 204
    row = Record.objects.get(external_id="tea")
    assert (row.version, row.scope_namespace) == (2, "users.harriet")
    assert row.provenance == "agent_extracted"
    item = _get(world).json()
    assert item["value"] == {"cups": 4}
    assert item["created_at"] <= item["updated_at"]


def test_a_ranked_search_is_paged_to_its_end(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(langgraph, "RANKED", 2)
    for number in range(5):
        _put(world, {"text": "green tea", "n": number}, key=f"k{number}")
    search_body = {"namespace_prefix": ["users"], "query": "tea", "limit": 2}
    keys: list[str] = []
    for offset in range(0, 8, 2):
        items = _send(world, "POST", "/items/search", {**search_body, "offset": offset})
        keys += [row["key"] for row in items.json()["items"]]
    assert sorted(keys) == [f"k{number}" for number in range(5)]
    last = {**search_body, "filter": {"n": 4}}
    items = _send(world, "POST", "/items/search", last).json()["items"]
    assert [row["key"] for row in items] == ["k4"]


def test_the_same_value_again_is_no_version(world: World) -> None:
    for _ in range(2):
        assert _put(world, {"cups": 3}).status_code == 204
    assert Record.objects.get(external_id="tea").version == 1


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("PUT", "/items", {**ITEM, "value": 7}, 422),
        ("PUT", "/items", {**ITEM, "value": None}, 422),
        ("PUT", "/items", {**ITEM, "namespace": [], "value": {}}, 422),
        ("PUT", "/items", {**ITEM, "namespace": ["a.b"], "value": {}}, 422),
        ("PUT", "/items", {**ITEM, "namespace": [""], "value": {}}, 422),
        ("PUT", "/items", {**ITEM, "key": "", "value": {}}, 422),
        ("PUT", "/items", {**ITEM, "value": {}, "ttl": -1}, 422),
        ("PUT", "/items", {**ITEM, "value": {}, "mood": 1}, 422),
        ("PUT", "/items", {**ITEM, "value": {"x": "y" * 70_000}}, 413),
        ("GET", "/items?key=tea", None, 422),
        ("GET", "/items?key=tea&namespace=a", None, 404),
        ("POST", "/items/search", {"namespace_prefix": [], "limit": 0}, 422),
        (
            "POST",
            "/items/search",
            {"namespace_prefix": [], "filter": {"n": {"$x": 1}}},
            422,
        ),
        ("POST", "/items", {}, 405),
        ("POST", "/attic", {}, 404),
    ],
)
def test_a_refusal_has_a_detail(
    world: World, method: str, path: str, body: Any, status: int
) -> None:
    reply = _send(world, method, path, body)
    assert reply.status_code == status, reply.content
    assert isinstance(reply.json()["detail"], str)


def test_a_wrong_key_is_refused_and_not_repeated(world: World) -> None:
    reply = _get(world, "nobody")
    assert reply.status_code == 401
    assert b"cmk_wrong" not in reply.content


def test_another_agents_items_are_not_there(world: World) -> None:
    _put(world, {"cups": 3})
    for agent in ("bob", "olga"):
        assert _get(world, agent).status_code == 404
        assert _send(world, "DELETE", "/items", ITEM, agent).status_code == 204
        response = _send(
            world, "POST", "/items/search", {"namespace_prefix": []}, agent
        )
        assert response.json() == {"items": []}
        assert _send(world, "POST", "/namespaces", {}, agent).json()["namespaces"] == []
    assert _get(world).status_code == 200


def test_other_records_are_no_items(world: World) -> None:
    body = {"content": "A plain record", "scope": {"namespace": "users.harriet"}}
    assert world.api("ada").post("/records", body).status == 201
    response = _send(world, "POST", "/items/search", {"namespace_prefix": ["users"]})
    assert response.json() == {"items": []}


def test_a_hostile_value_is_held_and_never_answered(world: World) -> None:
    before = HeldFile.objects.count()
    reply = _put(world, {"note": ATTACK})
    assert 400 <= reply.status_code < 500
    assert "evil.example" not in reply.content.decode()
    assert HeldFile.objects.count() == before + 1
    assert _get(world).status_code == 404


def test_a_deleted_items_words_are_gone(world: World) -> None:
    _put(world, {"likes": "pomegranate"})
    assert _send(world, "DELETE", "/items", ITEM).status_code == 204
    body = {"namespace_prefix": [], "query": "pomegranate"}
    assert _send(world, "POST", "/items/search", body).json() == {"items": []}
    assert "pomegranate" not in Record.objects.get().content


# ── Filters ──────────────────────────────────────────────────────────────────
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.5, 1.0, "", "1", "b"]),
)
ORDER = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@given(actual=scalars, operand=scalars, name=st.sampled_from(filters.OPERATORS))
def test_like_is_compared_with_like(actual: Any, operand: Any, name: str) -> None:
    holds = filters.read({"n": {name: operand}})({"n": actual})
    is_equal = actual == operand and isinstance(actual, bool) == isinstance(
        operand, bool
    )
    is_comparable = (_number(actual) and _number(operand)) or (
        isinstance(actual, str) and isinstance(operand, str)
    )
    if name in ("$eq", "$ne"):
        assert holds == (is_equal == (name == "$eq"))
    else:
        assert holds == (is_comparable and ORDER[name](actual, operand))


def test_an_absent_field_is_equal_to_nothing() -> None:
    assert not filters.read({"n": None})({})
    assert filters.read({"n": {"$ne": 1}})({})
    assert not filters.read({"n": {"$lt": 1}})({})


@pytest.mark.parametrize("wrong", [{"$x": 1}, {"$gt": 1, "plain": 2}, {"$in": [1]}])
def test_an_unknown_operator_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(errors.Invalid):
        filters.read({"n": wrong})

"""One agent and its end users: the memory tools keep each user's memories apart."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from django.test import Client

from memory import workspace_settings
from memory.accounts import api_keys
from memory.models import AgentKey, Record
from memory.rules import end_users
from tests.memory.promptkit import speak
from tests.world import ApiClient, World

META = end_users.META
MIA, TOM = {"X-End-User": "mia"}, {"X-End-User": "tom"}
TOOLS = {
    f"memory__{verb}"
    for verb in ("recall", "remember", "list", "forget", "history", "revise")
}


def over_http(
    world: World, tool: str, user: str | None, token: str, **arguments: Any
) -> Any:
    """Call a tool over HTTP and return its result, or the problem's code."""
    headers = {"X-End-User": user} if user else None
    caller = ApiClient(key=token)
    reply = caller.post(f"/tools/memory__{tool}", arguments, headers=headers)
    return reply.data if reply.status == 200 else reply.code


def over_mcp(
    world: World, tool: str, user: str | None, token: str, **arguments: Any
) -> Any:
    """Call a tool over MCP with the user in the metadata of the request."""
    params: dict[str, Any] = {"name": f"memory__{tool}", "arguments": arguments}
    if user:
        params["_meta"] = {end_users.META: user}
    reply = speak(Client(), token, "tools/call", params)
    return reply.get("result", {}).get("structuredContent")


def key_for(world: World, user: str) -> str:
    """Issue ada a key for one end user."""
    by = world.actor("owner")
    return api_keys.issue_agent_key(world.agents["ada"], by=by, end_user=user).token


def contents(listing: Any) -> list[str]:
    return [memory["content"] for memory in listing["memories"]]


@pytest.mark.parametrize("call", [over_http, over_mcp])
def test_two_users_of_one_agent_are_apart(world: World, call: Any) -> None:
    ada, own = world.tokens["ada"], key_for(world, "mia")
    saved = call(world, "remember", "mia", ada, content="Mia drinks tea")["id"]
    call(world, "remember", "tom", ada, content="Tom drinks coffee")
    call(world, "remember", None, ada, content="The shop opens at nine")
    assert contents(call(world, "list", "mia", ada)) == ["Mia drinks tea"]
    assert contents(call(world, "recall", "tom", ada, query="drinks")) == [
        "Tom drinks coffee"
    ]
    assert contents(call(world, "list", None, ada)) == ["The shop opens at nine"]
    assert contents(call(world, "list", None, own)) == ["Mia drinks tea"]
    call(world, "forget", "tom", ada, memory_id=saved)
    call(world, "forget", None, ada, memory_id=saved)
    assert not isinstance(call(world, "history", "tom", ada, memory_id=saved), dict)
    assert contents(call(world, "list", "mia", ada)) == ["Mia drinks tea"]
    assert Record.objects.get(pk=saved).scope_user == "mia"


def test_a_key_of_one_user_opens_the_tools_of_that_user_and_nothing_else(
    world: World,
) -> None:
    token = key_for(world, "mia")
    caller = ApiClient(key=token)
    for path in ("/journal", "/records", "/memory/files", "/episodic/index"):
        assert caller.get(path).status == 403, path
    assert caller.post("/records/search", {"query": "tea"}).status == 403
    assert caller.post("/episodic/recall", {"query": "tea"}).status == 403
    read = caller.post("/memory/tools/memory.read", {"tier": "AGENT"})
    assert read.data["ok"] is False
    dialect = Client().get("/compat/mem0/v1/memories/", headers={"X-API-Key": token})
    assert dialect.status_code == 403
    offered = speak(Client(), token, "tools/list")["result"]["tools"]
    assert {tool["name"] for tool in offered} == TOOLS
    assert over_http(world, "list", "tom", token) == "other_end_user"
    assert over_http(world, "list", "mia", token)["count"] == 0


def named_user(headers: Mapping[str, str], meta: object) -> Any:
    params = {"name": "memory__list", "arguments": {}, "_meta": {end_users.META: meta}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return Client().post(
        "/mcp", json.dumps(body), content_type="application/json", headers=headers
    )


def test_whom_a_request_names_is_one_user_and_a_text(world: World) -> None:
    key = {"Authorization": f"Bearer {world.tokens['ada']}"}
    assert "result" in named_user(key, "mia").json()
    assert "result" in named_user(key | MIA, "mia").json()
    for headers, meta in ((key | TOM, "mia"), (key, 7), (key, ""), (key, "x" * 257)):
        assert named_user(headers, meta).status_code == 422, meta
    ada = world.tokens["ada"]
    for user in (" ", "x" * 257):
        assert over_http(world, "list", user, ada) == "bad_end_user"
    reply = ApiClient(key=world.tokens["operator"]).get("/journal", headers=MIA)
    assert reply.status == 200


def test_a_workspace_may_require_an_end_user(world: World) -> None:
    ada, setting = world.tokens["ada"], "tools_require_user"
    described = ApiClient(key=ada).get("/tools").data["tools"]
    assert all("Without an end user" in tool["description"] for tool in described)
    workspace_settings.change({setting: True}, by=world.actor("owner"))
    assert ApiClient(key=ada).get("/tools").data["tools"] == []
    assert over_http(world, "list", None, ada) == "end_user_required"
    assert over_mcp(world, "list", None, ada) is None
    offered = speak(Client(), ada, "tools/list")["result"]["tools"]
    names = {tool["name"] for tool in offered}
    assert not TOOLS & names
    assert not [name for name in names if name.startswith("provider.")]
    assert over_http(world, "list", "mia", ada)["count"] == 0
    assert over_mcp(world, "list", "mia", ada)["count"] == 0
    assert over_http(world, "list", None, key_for(world, "tom"))["count"] == 0
    olga = world.tokens["olga"]
    assert over_http(world, "list", None, olga)["count"] == 0


def test_the_page_issues_a_key_for_one_user(world: World) -> None:
    form = {
        "agent": world.agents["ada"].id,
        "end_user": "mia",
        "name": "",
        "scopes": ["read", "write"],
        "expires_on": "",
    }
    page = world.page("owner").post("/workspace/keys/", form)
    assert page.status_code == 201
    assert "agent, for end user" in page.content.decode()
    assert AgentKey.objects.get(end_user="mia").agent_id == world.agents["ada"].id


def test_a_turn_recalls_and_keeps_memories_where_the_workspace_wants_it(
    world: World,
) -> None:
    def recall(user: Mapping[str, str]) -> str | None:
        body = {"conversation_id": "c1", "prompt": "What do I drink, tea or coffee?"}
        reply = world.api("ada").post("/turns/recall", body, headers=user)
        response: str | None = reply.data["memory_context"]
        return response

    def persist(user: Mapping[str, str], prompt: str, **extra: str) -> None:
        body = {"conversation_id": "c1", "prompt": prompt, "answer": "Noted."}
        reply = world.api("ada").post("/turns/persist", body | extra, headers=user)
        assert reply.status == 200

    phrase = "I love <b>green tea</b> in the morning."
    persist(MIA, phrase)
    assert Record.objects.count() == 0
    change = {"turns_use_memories": True}
    workspace_settings.change(change, by=world.actor("owner"))
    persist(MIA, phrase, completion="error")
    assert Record.objects.count() == 0
    persist(MIA, phrase)
    record = Record.objects.get()
    assert (record.scope_user, record.provenance) == ("mia", "agent_extracted")
    text = recall(MIA)
    assert text is not None
    assert text.startswith("<recalled-memory") and "UNTRUSTED HINTS" in text
    assert "green tea" in text and "<b>" not in text
    assert recall(TOM) is None
    assert recall({}) is None


@pytest.mark.parametrize("verb", ["reflect", "profile", "graph", "batch"])
def test_a_named_end_user_is_the_only_one_of_the_provider(
    world: World, verb: str
) -> None:
    ada, by = world.tokens["ada"], world.agents["ada"]
    over_http(world, "remember", "tom", ada, content="Tom drinks coffee")
    query = {"query": "drinks"} if verb in ("reflect", "graph") else {}
    added = {"contents": ["Tom naps"]} if verb == "batch" else {}
    fields = {"user": "tom", **query, **added}
    params = {"name": f"provider.{verb}", "arguments": fields}
    refusal = speak(Client(), ada, "tools/call", params | {"_meta": {META: "mia"}})
    assert refusal["result"]["isError"] is True
    assert "coffee" not in json.dumps(refusal)
    scope = {"user": "tom"}
    inputs = [{"mode": "verbatim", "content": "Tom naps", "scope": scope}]
    scope_fields: dict[str, Any] = (
        {"inputs": inputs} if verb == "batch" else {"scope": scope}
    )
    body = {"workspace_id": by.workspace_id, **query, **scope_fields}
    caller = ApiClient(key=ada)
    reply = caller.post(f"/provider/{verb}", body, headers=MIA)
    assert (reply.status, reply.code) == (403, "other_end_user")
    if verb == "batch":
        refs = {
            "workspace_id": by.workspace_id,
            "refs": [{"id": "rec_1", "scope": scope}],
        }
        assert caller.post("/provider/batch", refs, headers=MIA).status == 403
    assert Record.objects.count() == 1
    assert caller.post(f"/provider/{verb}", body, headers=TOM).status == 200
    parameters = speak(Client(), ada, "tools/call", params | {"_meta": {META: "tom"}})
    assert parameters["result"]["isError"] is False

"""A turn's memory over HTTP, and the set-ups that an admin chooses for it."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.cache import cache
from django.db import connection
from django.test import Client
from pytest_django import Settings

from memory.files import tools
from memory.integrations.gateway import references, users
from memory.integrations.gateway import secrets as gateway_secrets
from memory.integrations.gateway import server as gateway_server
from memory.integrations.gateway import settings as gateway_settings
from memory.integrations.gateway.client import GatewayClient
from memory.integrations.gateway.config import Secret
from memory.models import GatewaySetup, JournalEntry, MemoryVersion, Record
from memory.rules import errors
from tests import processes
from tests.memory.gateway import upstream
from tests.memory.promptkit import speak
from tests.world import ATTACK, World

KEY = "uk_very-secret-0123456789"
PROMPT = "Where did the parcel go?"
ASK = {"conversation_id": "c1", "prompt": PROMPT}
TURN = {**ASK, "answer": "The parcel went to Graz."}


@pytest.fixture(autouse=True)
def _loopback(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.GATEWAY_PRIVATE = True
    monkeypatch.setattr(gateway_server, "SETTLE_SECONDS", 0.0)


def section(url: str, mode: str = "memory_gateway", **extra: Any) -> dict[str, Any]:
    """Return a set-up as an admin sends it."""
    settings = {
        "baseUrl": url,
        "userId": "mia",
        "userKey": KEY,
        "scope": ["current_chat", "resources"],
        "timeoutSeconds": 60,
    }
    return {"mode": mode, "gateway": {**settings, **extra}}


def choose(world: World, body: dict[str, Any]) -> Any:
    reply = world.api("owner").post("/turns/setups", body)
    assert reply.status == 200, reply.body
    return reply.data


def recall(world: World, caller: str = "ada", **extra: Any) -> Any:
    reply = world.api(caller).post("/turns/recall", {**ASK, **extra})
    assert reply.status == 200, reply.body
    return reply.data


def persist(world: World, caller: str = "ada", **extra: Any) -> Any:
    reply = world.api(caller).post("/turns/persist", {**TURN, **extra})
    assert reply.status == 200, reply.body
    return reply.data


def events(world: World) -> list[tuple[str, dict[str, Any]]]:
    """Return the hidden events, oldest first."""
    rows = JournalEntry.objects.filter(
        workspace_id=world.acme.id, entry_type__startswith="memory_gateway."
    )
    return [(row.entry_type, row.payload) for row in rows.order_by("seq")]


def write(world: World, text: str, **where: str) -> None:
    arguments = {"content": text, "mode": "replace", **where}
    outcome = tools.call("memory.write", arguments, by=world.actor("ada"))
    assert outcome.ok, outcome


# ── Curated ──────────────────────────────────────────────────────────────────
def test_without_a_setup_memory_is_curated(world: World) -> None:
    response = recall(world)
    assert response == {
        "strategy": "curated",
        "system_rule": references.SYSTEM_RULE,
        "tools": {"memory": True, "session_search": True},
        "snapshot": None,
        "reference": None,
        "memory_context": None,
    }
    assert persist(world) == {"strategy": "curated"}
    assert events(world) == []
    assert Record.objects.count() == 0


def test_the_two_files_are_frozen_for_a_conversation(world: World) -> None:
    write(world, "Refunds end at $200.", tier="AGENT")
    write(world, "Mia likes tea.", tier="peers", key="mia")
    first = {"memory": "Refunds end at $200.", "user": "Mia likes tea."}
    assert recall(world, user="mia")["snapshot"] == first
    write(world, "Refunds end at $300.", tier="AGENT")
    assert recall(world, user="mia")["snapshot"] == first
    now = recall(world, conversation_id="c2", user="mia")["snapshot"]
    assert now == {**first, "memory": "Refunds end at $300."}
    single = recall(world, conversation_id="c3", user="Mia Müller!")["snapshot"]
    assert single == {"memory": "Refunds end at $300.", "user": ""}
    assert recall(world, "lena", conversation_id="c1")["snapshot"] is None


def test_a_frozen_version_that_is_gone_is_gone(world: World) -> None:
    write(world, "Mia lives in Graz.", tier="AGENT")
    recall(world)
    write(world, "Nothing about her.", tier="AGENT")
    MemoryVersion.objects.filter(number=1).delete()
    assert recall(world)["snapshot"]["memory"] == "Nothing about her."
    cache_content = str(getattr(cache, "_cache", "{}"))
    assert cache_content
    assert "Graz" not in cache_content


def test_a_held_text_is_in_no_snapshot(world: World) -> None:
    world.held()
    assert ATTACK not in json.dumps(recall(world))


# ── The gateway ──────────────────────────────────────────────────────────────
HIT = {"id": "m1", "text": "The parcel went to Graz", "score": 0.9, "raw": {"x": KEY}}


def test_a_turn_over_a_gateway(world: World) -> None:
    good = upstream.at({"/memories/search": upstream.answers(200, {"results": [HIT]})})
    with upstream.running(good) as server:
        choose(world, section(server.url, topK=3))
        response = recall(world)
        assert response["strategy"] == "memory_gateway"
        assert response["tools"] == {"memory": False, "session_search": True}
        assert response["snapshot"] is None
        assert "The parcel went to Graz" in response["reference"]["content"]
        assert KEY not in json.dumps(response)
        assert persist(world, asked_at="2026-03-01T12:00:00Z") == {
            "strategy": "memory_gateway"
        }
        assert server.paths == ["/memories/search", "/memories/add", "/memories/flush"]
        search, add, flush = (request.body for request in server.requests)
    assert search == {
        "user_id": "mia",
        "user_key": KEY,
        "app_id": "default",
        "project_id": "default",
        "conversation_id": "c1",
        "query": PROMPT,
        "scope": ["current_chat", "resources"],
        "top_k": 3,
    }
    times = [message["timestamp"] for message in add["messages"]]
    assert times[0] == 1_772_366_400_000 <= times[1]
    assert [m["content"] for m in add["messages"]] == [PROMPT, TURN["answer"]]
    assert flush["session_id"] == add["session_id"] == "chat:c1"
    assert [kind for kind, _ in events(world)] == [
        "memory_gateway.recall_succeeded",
        "memory_gateway.add_succeeded",
        "memory_gateway.flush_succeeded",
    ]


TROUBLE = [
    upstream.silent,
    upstream.drips,
    upstream.hangs_up,
    upstream.answers(401, {"detail": KEY}),
    upstream.answers(500, {"detail": KEY}),
    upstream.answers(200, b"{"),
    upstream.answers(200, []),
]


@pytest.mark.parametrize("behave", TROUBLE)
def test_trouble_is_an_event_and_never_an_error(
    world: World, behave: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with upstream.running(behave) as server:
        is_endless = behave in (upstream.silent, upstream.drips)
        limit = 0.5 if is_endless else 60
        choose(world, section(server.url, timeoutSeconds=limit))
        assert recall(world)["reference"] is None
        persist(world)
        assert server.wait_for(2) == ["/memories/search", "/memories/add"]
    rows = events(world)
    assert [kind for kind, _ in rows] == [
        "memory_gateway.recall_failed",
        "memory_gateway.add_failed",
    ]
    assert KEY not in caplog.text + json.dumps(rows)


def test_a_run_that_ended_in_an_error_is_not_kept(world: World) -> None:
    with upstream.running() as server:
        choose(world, section(server.url))
        persist(world, completion="error")
        assert server.requests == []
        persist(world, completion="tool_limit")
        assert server.paths == ["/memories/add", "/memories/flush"]


def test_an_agents_own_setup_goes_before_the_workspaces(world: World) -> None:
    with upstream.running() as server:
        choose(world, section(server.url, "hybrid"))
        ada = world.agents["ada"].id
        choose(world, {"mode": "curated", "agent_id": ada})
        assert recall(world)["strategy"] == "curated"
        assert recall(world, "bob")["strategy"] == "hybrid"
        assert recall(world, "olga")["strategy"] == "curated"
        rows = world.api("owner").get("/turns/setups").data["items"]
        own_setup = next(row for row in rows if row["agent_id"] == ada)
        gateway_settings.remove(own_setup["id"], by=world.actor("owner"))
        assert recall(world)["strategy"] == "hybrid"


# ── Hidden events ────────────────────────────────────────────────────────────
def test_events_are_hidden_from_agents_recall_and_search(world: World) -> None:
    with upstream.running(upstream.answers(500)) as server:
        choose(world, section(server.url))
        recall(world)
    [row] = JournalEntry.objects.filter(entry_type="memory_gateway.recall_failed")
    assert row.refs == {"context_visible": False}
    assert not row.embeddable
    for caller in ("ada", "lena"):
        api = world.api(caller)
        listing = api.get("/journal", {"limit": 100}).data["entries"]
        assert row.id not in json.dumps(listing)
        assert api.get(f"/journal/{row.id}").status == 404
        for mode in ("hybrid", "sparse"):
            request_body = {"query": "memory gateway recall failed", "mode": mode}
            answer = api.post("/episodic/recall", request_body)
            assert row.id not in answer.body.decode()
    response = world.api("operator").get("/journal", {"q": "memory gateway recall"})
    assert row.id not in response.body.decode()
    by_type = {"entry_type": row.entry_type}
    seen_ids = world.api("operator").get("/journal", by_type).body.decode()
    assert row.id in seen_ids


# ── Set-ups ──────────────────────────────────────────────────────────────────
def test_a_setup_never_tells_its_key(world: World) -> None:
    created = choose(world, section("https://memory.example/base/"))
    assert created["has_key"] is True
    assert created["base_url"] == "https://memory.example/base"
    listing = world.api("owner").get("/turns/setups").body.decode()
    assert KEY not in listing + json.dumps(created)
    row = GatewaySetup.objects.get()
    assert KEY not in str(vars(row))
    assert JournalEntry.objects.filter(entry_type="gateway_setup.chosen").count() == 1
    assert KEY not in str(list(JournalEntry.objects.values()))


def test_the_key_stays_unless_the_address_changes(world: World) -> None:
    choose(world, section("https://memory.example"))
    body = section("https://memory.example/", topK=9)
    del body["gateway"]["userKey"]
    assert choose(world, body)["top_k"] == 9
    config = gateway_settings.settings_of(GatewaySetup.objects.get()).gateway
    assert config is not None
    assert config.user_key == Secret(KEY)
    body["gateway"]["baseUrl"] = "https://elsewhere.example"
    reply = world.api("owner").post("/turns/setups", body)
    assert reply.status == 422
    choose(world, {"mode": "curated"})
    assert GatewaySetup.objects.get().sealed_key == ""


@pytest.mark.parametrize(
    "change",
    [
        {"baseUrl": f"https://x:{KEY}@memory.example"},
        {"baseUrl": KEY},
        {"userKey": ""},
        {"topK": 0},
        {"scope": [KEY]},
        {"timeoutSeconds": 61},
        {KEY: KEY},
    ],
)
def test_a_bad_setup_is_refused_without_its_words(
    world: World, change: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    body = section("https://memory.example", **change)
    reply = world.api("owner").post("/turns/setups", body)
    assert reply.status == 422
    assert KEY not in reply.body.decode() + caplog.text
    assert GatewaySetup.objects.count() == 0


def test_a_private_address_needs_the_setting(world: World, settings: Settings) -> None:
    settings.GATEWAY_PRIVATE = False
    reply = world.api("owner").post("/turns/setups", section("http://127.0.0.1:1"))
    assert (reply.status, reply.code) == (422, "private_address")
    settings.GATEWAY_PRIVATE = True
    choose(world, section("http://127.0.0.1:1"))
    settings.GATEWAY_PRIVATE = False
    assert recall(world)["reference"] is None
    assert events(world)[0][1]["category"] == "forbidden_address"


def test_a_seal_opens_for_its_row_and_its_installation_only(
    world: World, settings: Settings
) -> None:
    closed = gateway_secrets.seal(Secret(KEY), "ws:1")
    assert KEY not in closed
    assert gateway_secrets.unseal(closed, "ws:1") == Secret(KEY)
    assert closed != gateway_secrets.seal(Secret(KEY), "ws:1")
    for text, row_name in ((closed, "ws:2"), (closed[:-4], "ws:1"), ("", "ws:1")):
        with pytest.raises(gateway_secrets.Broken):
            gateway_secrets.unseal(text, row_name)
    choose(world, section("https://memory.example"))
    settings.GATEWAY_KEY = "another"
    assert recall(world)["strategy"] == "memory_gateway"
    persist(world)
    assert [(kind, event["category"]) for kind, event in events(world)] == [
        ("memory_gateway.recall_failed", "setup"),
        ("memory_gateway.add_failed", "setup"),
    ]


def test_a_setup_for_another_workspaces_agent(world: World) -> None:
    body = {"mode": "curated", "agent_id": world.agents["olga"].id}
    assert world.api("owner").post("/turns/setups", body).status == 404
    with pytest.raises(errors.NotFound):
        gateway_settings.remove("gws_0000", by=world.actor("owner"))


@pytest.mark.parametrize(
    "change",
    [
        {"conversation_id": ""},
        {"conversation_id": "x" * 124},
        {"prompt": ""},
        {"more": 1},
        {"completion": "odd"},
        {"answer": ""},
        {"asked_at": 7},
    ],
)
def test_a_turn_of_another_shape(world: World, change: dict[str, Any]) -> None:
    reply = world.api("ada").post("/turns/persist", {**TURN, **change})
    assert reply.status == 422
    assert "parcel" not in reply.body.decode()


# ── Both sides ───────────────────────────────────────────────────────────────
@pytest.fixture
def files(tmp_path: Path) -> Iterator[None]:
    """Leave no files of a committed world behind."""
    yield
    shutil.rmtree(tmp_path, ignore_errors=True)


def test_both_sides_over_a_socket(
    shared_world: World, live_server: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Ada's turns go through bob's gateway; every byte left behind holds no key."""
    caplog.set_level(logging.DEBUG)
    world = shared_world
    owner = world.actor("owner")
    issued = users.issue(world.agents["bob"], "mia", by=owner)
    setup = section(
        f"{live_server.url}/gateway/", userKey=issued.token, timeoutSeconds=60
    )
    outputs = [json.dumps(choose(world, setup))]
    assert recall(world)["reference"] is None
    outputs.append(json.dumps(persist(world)))
    response = recall(world)["reference"]["content"]
    assert "The parcel went to Graz." in response
    assert PROMPT in response
    assert recall(world, conversation_id="c2")["reference"] is None
    persist(world)
    assert Record.objects.filter(scope_user="mia").count() == 4
    assert [kind.partition("_gateway.")[2] for kind, _ in events(world)] == [
        "recall_succeeded",
        *("add_succeeded", "flush_succeeded", "recall_succeeded"),
        *("recall_succeeded", "add_succeeded", "flush_succeeded"),
    ]
    users.revoke(issued.key, by=world.actor("owner"))
    assert recall(world)["reference"] is None
    assert events(world)[-1][1] == {
        "event": "memory_gateway_recall_failed",
        "agent_id": world.agents["ada"].id,
        "operation": "search",
        "category": "http_status",
        "status": 401,
    }
    outputs += [caplog.text, response, _bytes_of_the_database()]
    assert [text for text in outputs if issued.token in text] == []
    said_by_files = [
        path
        for path in Path(django_settings.DATA_DIR).rglob("*")
        if path.is_file() and issued.token.encode() in processes.bytes_of(path)
    ]
    assert said_by_files == []


def _bytes_of_the_database() -> str:
    """Return every row of every table as text."""
    lines = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            lines += [repr(row) for row in cursor.fetchall()]
    return "\n".join(lines)


def test_the_client_alone_against_our_server(
    shared_world: World, live_server: Any
) -> None:
    owner = shared_world.actor("owner")
    issued = users.issue(shared_world.agents["ada"], "mia", by=owner)
    url = f"{live_server.url}/gateway"
    row = GatewaySetup(base_url=url, user_id="mia", scope=["all_user_memory"])
    row.app_id = row.project_id = "default"
    client = GatewayClient(gateway_settings.gateway_of(row, Secret(issued.token)))
    message = {"sender_id": "mia", "role": "user", "timestamp": 1, "content": "Tea"}

    async def talk() -> list[Any]:
        added = await client.add("chat:c1", [message])
        flushed = await client.flush("chat:c1")
        return [added["status"], flushed["status"], await client.search("c1", "tea")]

    added, flushed, hits = asyncio.run(talk())
    assert (added, flushed) == ("accumulated", "extracted")
    assert [(hit["text"], hit["source_scope"]) for hit in hits] == [
        ("Tea", "all_user_memory")
    ]


FILE_TOOLS = {f"memory.{verb}" for verb in ("read", "write", "search", "append_daily")}


def _tools(world: World, caller: str) -> tuple[set[str], set[str]]:
    """Return what an agent is offered over HTTP and over MCP."""
    listing = world.api(caller).get("/memory/tools").data["tools"]
    mcp_tools = speak(Client(), world.tokens[caller], "tools/list")["result"]["tools"]
    return {tool["name"] for tool in listing}, {tool["name"] for tool in mcp_tools}


def test_the_tools_of_a_strategy_are_the_ones_an_agent_has(world: World) -> None:
    write = {"tier": "AGENT", "content": "x", "mode": "replace"}
    choose(world, section("https://gateway.example"))
    over_http, over_mcp = _tools(world, "ada")
    assert over_http == set()
    assert not over_mcp & FILE_TOOLS
    assert "session_search" in over_mcp
    reply = world.api("ada").post("/memory/tools/memory.write", write).data
    assert reply["error"]["code"] == "unknown_tool"
    call_params = {"name": "memory.write", "arguments": write}
    mcp_tools = speak(Client(), world.tokens["ada"], "tools/call", call_params)
    assert mcp_tools["error"]["message"] == "Unknown tool: 'memory.write'"
    assert MemoryVersion.objects.count() == 0
    bob = section("https://gateway.example", mode="hybrid")
    choose(world, bob | {"agent_id": world.agents["bob"].id})
    over_http, over_mcp = _tools(world, "bob")
    assert over_http == FILE_TOOLS
    assert over_mcp >= FILE_TOOLS | {"session_search"}


def test_the_chain_holds_after_turns_over_a_gateway(world: World) -> None:
    good = upstream.at({"/memories/search": upstream.answers(200, {"results": [HIT]})})
    with upstream.running(good) as server:
        choose(world, section(server.url))
        recall(world)
        persist(world)
    recall(world)  # nobody answers any more
    assert any(kind.endswith("_failed") for kind, _ in events(world))
    response = world.api("operator").get("/journal/verify").data
    assert (response["ok"], response["breaks"]) == (True, [])


def test_words_put_back_into_the_index_are_found_out(world: World) -> None:
    choose(world, section("http://127.0.0.1:9/"))
    recall(world)
    rows = JournalEntry.objects.filter(entry_type="memory_gateway.recall_failed")
    rows.update(body="recall failed")
    [broken] = world.api("operator").get("/journal/verify").data["breaks"]
    assert broken["reason"] == "Its words in the index were changed."

"""Reflect, profile, graph and batch over HTTP and MCP: whose, what, and who made it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from django.test import Client

from episodic.consolidation import run as consolidation
from episodic.summarisers.ollama import OllamaSummariser
from memory import records
from memory.models import HeldFile, Record
from memory.records import Provenance
from memory.records.drafts import Draft
from memory.rules.scopes import Scope
from tests.memory.promptkit import speak
from tests.world import ATTACK, World

FACT = "Mia prefers trains over planes."
LENA = {"user": "mia"}
VERBS = ("reflect", "profile", "graph", "batch")


def keep(world: World, text: str = FACT, caller: str = "ada", user: str = "mia") -> str:
    """Keep a record of somebody's agent about a user."""
    by = world.actor(caller)
    owner = records.owner_for(by)
    draft = Draft(content=text, owner=owner, scope=Scope(user=user))
    return records.save(draft, provenance=Provenance.AGENT_EXTRACTED, by=by).record.id


def body(world: World, verb: str, **extra: Any) -> dict[str, Any]:
    """Return a good body for a verb."""
    request_body: dict[str, Any] = {"workspace_id": world.acme.id}
    if verb == "batch":
        request_body["inputs"] = [{"mode": "verbatim", "content": FACT, "scope": LENA}]
    else:
        request_body["scope"] = LENA
    if verb in ("reflect", "graph"):
        request_body["query"] = "trains"
    return {**request_body, **extra}


def ask(world: World, verb: str, caller: str = "ada", **extra: Any) -> Any:
    """Ask over HTTP and return the answer."""
    reply = world.api(caller).post(f"/provider/{verb}", body(world, verb, **extra))
    assert reply.status == 200, reply.body
    return reply.data


def tool(world: World, verb: str, caller: str = "ada", **arguments: Any) -> Any:
    """Call the tool over MCP and return its answer."""
    request_body = {"name": f"provider.{verb}", "arguments": arguments}
    return speak(Client(), world.tokens[caller], "tools/call", request_body)["result"]


# ── Whose ────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("caller", "status"),
    [("lena", 404), ("bob", 404), ("olga", 404), ("stranger", 404),
     ("viewer", 403), ("compliance", 403), ("reader", 403), ("nobody", 401)],
)  # fmt: skip
def test_nobody_else_gets_an_agents_memory(
    world: World, verb: str, caller: str, status: int
) -> None:
    keep(world)
    request_body = body(world, verb, agent_id=world.agents["ada"].id)
    reply = world.api(caller).post(f"/provider/{verb}", request_body)
    assert reply.status == status, reply.body
    assert b"trains" not in reply.body


@pytest.mark.parametrize("verb", ["reflect", "profile", "graph"])
def test_users_and_agents_are_apart(world: World, verb: str) -> None:
    own_memory, other_user_memory = (
        keep(world),
        keep(world, "Tom takes trains too.", user="tom"),
    )
    other_agent_memory = keep(world, "Bob's Mia takes trains.", caller="bob")
    result = json.dumps(ask(world, verb))
    assert own_memory in result
    assert other_user_memory not in result
    assert other_agent_memory not in result
    assert own_memory not in json.dumps(ask(world, verb, caller="lena"))
    parameters = {"agent_id": world.agents["ada"].id}
    assert own_memory in json.dumps(ask(world, verb, caller="operator", **parameters))
    arguments = {"user": "mia"} | ({} if verb == "profile" else {"query": "trains"})
    tool_result = json.dumps(tool(world, verb, **arguments))
    assert own_memory in tool_result
    assert other_user_memory not in tool_result


@pytest.mark.parametrize("verb", VERBS)
def test_a_person_names_whose_memory_it_is(world: World, verb: str) -> None:
    reply = world.api("operator").post(f"/provider/{verb}", body(world, verb))
    assert (reply.status, reply.code) == (422, "agent_required")


@pytest.mark.parametrize("verb", ["reflect", "profile", "graph"])
def test_a_scope_names_its_user(world: World, verb: str) -> None:
    request_body = body(world, verb, scope={"namespace": "x"})
    reply = world.api("ada").post(f"/provider/{verb}", request_body)
    assert (reply.status, reply.code) == (422, "invalid_scope")


# ── What ─────────────────────────────────────────────────────────────────────
def test_without_a_model_answers_are_extracted_and_say_so(world: World) -> None:
    created = keep(world)
    result = ask(world, "reflect")
    assert result["insights"][0]["content"] == FACT
    assert result["insights"][0]["supporting_memory_ids"] == [created]
    plain = {"how": "extractive", "model": None, "fault": None}
    assert result["maker"] == plain
    result = ask(world, "profile", instructions="travel")
    assert result["facts"] == [f"{FACT} [{created}]"]
    assert result["maker"] == plain
    assert ask(world, "profile", scope={"user": "nobody"})["facts"] == []


def test_a_graph_joins_records_with_their_entries(world: World) -> None:
    created = keep(world)
    result = ask(world, "graph")
    assert created in {item["id"] for item in result["nodes"]}
    assert {item["from"] for item in result["edges"]} == {created}
    nodes = ask(world, "graph", graph_scope="nodes")
    assert nodes["edges"] == []
    request_body = body(world, "graph", graph_scope="all")
    assert world.api("ada").post("/provider/graph", request_body).status == 422


def test_a_batch_keeps_all_or_none_and_deletes(world: World) -> None:
    good = {"mode": "verbatim", "content": FACT, "scope": LENA}
    result = ask(world, "batch", inputs=[good, {**good, "content": "Mia likes tea."}])
    ids = [item["created"][0] for item in result["results"]]
    assert Record.objects.filter(pk__in=ids).count() == 2
    bad = {**good, "content": ATTACK}
    request_body = body(world, "batch", inputs=[{**good, "content": "New."}, bad])
    reply = world.api("ada").post("/provider/batch", request_body)
    assert (reply.status, reply.code) == (409, "held")
    assert HeldFile.objects.count() == 1
    assert Record.objects.count() == 2
    refs = [{"id": item, "scope": LENA} for item in ids]
    foreign = [{"id": keep(world, caller="bob"), "scope": LENA}]
    deleted = ask(world, "batch", inputs=[], refs=refs + foreign)
    assert deleted == {"results": [], "deleted": [*ids, foreign[0]["id"]]}
    remaining = Record.objects.filter(status="current").values_list("pk", flat=True)
    assert list(remaining) == [foreign[0]["id"]]


@pytest.mark.parametrize(
    "extra",
    [
        {"inputs": []},
        {"refs": [{"id": "rec_1", "scope": LENA}]},
        {"inputs": [{"mode": "shrug", "content": "x", "scope": LENA}]},
        {"inputs": [{"mode": "verbatim", "content": "x"}]},
        {"inputs": [{"mode": "verbatim", "content": "x", "scope": {}}]},
        {"inputs": [{"mode": "verbatim", "content": "a\x00b", "scope": LENA}]},
        {"inputs": [{"mode": "verbatim", "content": "x", "scope": LENA}] * 101},
    ],
)
def test_a_batch_that_makes_no_sense_keeps_nothing(
    world: World, extra: dict[str, Any]
) -> None:
    request_body = body(world, "batch", **extra)
    reply = world.api("ada").post("/provider/batch", request_body)
    assert reply.status == 422, reply.body
    assert Record.objects.count() == 0


def test_the_tools_do_the_same(world: World) -> None:
    saved = tool(world, "batch", user="mia", contents=[FACT])["structuredContent"]
    [created] = saved["results"][0]["created"]
    result = tool(world, "reflect", user="mia", query="trains")["structuredContent"]
    assert result["insights"][0]["supporting_memory_ids"] == [created]
    result = tool(world, "graph", user="mia", query="trains", graph_scope="nodes")
    assert created in {item["id"] for item in result["structuredContent"]["nodes"]}
    deleted = tool(world, "batch", user="mia", delete_ids=[created])[
        "structuredContent"
    ]
    assert deleted["deleted"] == [created]
    assert tool(world, "profile", user="mia")["structuredContent"]["facts"] == []
    refusal = tool(world, "batch", user="mia")
    assert refusal["isError"] is True
    assert tool(world, "reflect", query="trains")["isError"] is True


# ── Who made it ──────────────────────────────────────────────────────────────
@pytest.fixture
def model_requests(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Put a model in place that rests on the memories it is given; keep requests."""
    sent_requests: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        text = json.loads(request.content)["messages"][1]["content"]
        sent_requests.append(text)
        ids = [line[1:21] for line in text.splitlines() if line.startswith("[rec_")]
        phrase = {"content": "Rail.", "confidence": 0.7, "memory_ids": ids}
        content = json.dumps({"statements": [phrase]})
        return httpx.Response(200, json={"message": {"content": content}})

    model = OllamaSummariser(
        "http://127.0.0.1:1", "small", transport=httpx.MockTransport(answer)
    )
    monkeypatch.setattr(consolidation, "chat_model", lambda: model)
    yield sent_requests


def test_a_model_is_sent_the_question_the_scope_and_these_memories_alone(
    world: World, model_requests: list[str]
) -> None:
    created = keep(world)
    keep(world, "Tom takes trains too.", user="tom")
    result = ask(world, "reflect")
    assert result["insights"] == [
        {"content": "Rail.", "confidence": 0.7, "supporting_memory_ids": [created]}
    ]
    assert result["maker"] == {"how": "model", "model": "ollama:small", "fault": None}
    result = ask(world, "profile", instructions="How does she travel?")
    assert result["summary"] == f"Rail. [{created}]"
    first, second = model_requests
    assert "<question>\ntrains\n</question>\n<scope>\nuser=mia" in first
    assert "How does she travel?" in second
    for text in model_requests:
        assert f"[{created}] {FACT}" in text
        assert "Tom" not in text


def test_a_model_that_is_away_changes_who_made_it_and_nothing_else(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(world)
    plain = ask(world, "reflect")
    model = OllamaSummariser(
        "http://127.0.0.1:1",
        "small",
        transport=httpx.MockTransport(lambda _: httpx.Response(503)),
    )
    monkeypatch.setattr(consolidation, "chat_model", lambda: model)
    result = ask(world, "reflect")
    assert result["insights"] == plain["insights"]
    assert result["maker"] == {
        "how": "extractive",
        "model": "ollama:small",
        "fault": "bad_answer",
    }

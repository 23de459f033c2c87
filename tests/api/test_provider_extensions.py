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


def keep(world: World, text: str = FACT, who: str = "ada", user: str = "mia") -> str:
    """Keep a record of somebody's agent about a user."""
    by = world.actor(who)
    owner = records.owner_for(by)
    draft = Draft(content=text, owner=owner, scope=Scope(user=user))
    return records.save(draft, provenance=Provenance.AGENT_EXTRACTED, by=by).record.id


def body(world: World, verb: str, **more: Any) -> dict[str, Any]:
    """Return a good body for a verb."""
    asked: dict[str, Any] = {"workspace_id": world.acme.id}
    if verb == "batch":
        asked["inputs"] = [{"mode": "verbatim", "content": FACT, "scope": LENA}]
    else:
        asked["scope"] = LENA
    if verb in ("reflect", "graph"):
        asked["query"] = "trains"
    return {**asked, **more}


def ask(world: World, verb: str, who: str = "ada", **more: Any) -> Any:
    """Ask over HTTP and return the answer."""
    reply = world.api(who).post(f"/provider/{verb}", body(world, verb, **more))
    assert reply.status == 200, reply.body
    return reply.data


def tool(world: World, verb: str, who: str = "ada", **given: Any) -> Any:
    """Call the tool over MCP and return its answer."""
    asked = {"name": f"provider.{verb}", "arguments": given}
    return speak(Client(), world.tokens[who], "tools/call", asked)["result"]


# ── Whose ────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("who", "status"),
    [("lena", 404), ("bob", 404), ("olga", 404), ("stranger", 404),
     ("viewer", 403), ("compliance", 403), ("reader", 403), ("nobody", 401)],
)  # fmt: skip
def test_nobody_else_gets_an_agents_memory(
    world: World, verb: str, who: str, status: int
) -> None:
    keep(world)
    asked = body(world, verb, agent_id=world.agents["ada"].id)
    reply = world.api(who).post(f"/provider/{verb}", asked)
    assert reply.status == status, reply.body
    assert b"trains" not in reply.body


@pytest.mark.parametrize("verb", ["reflect", "profile", "graph"])
def test_users_and_agents_are_apart(world: World, verb: str) -> None:
    mine, theirs = keep(world), keep(world, "Tom takes trains too.", user="tom")
    others = keep(world, "Bob's Mia takes trains.", who="bob")
    told = json.dumps(ask(world, verb))
    assert mine in told
    assert theirs not in told
    assert others not in told
    assert mine not in json.dumps(ask(world, verb, who="lena"))
    named = {"agent_id": world.agents["ada"].id}
    assert mine in json.dumps(ask(world, verb, who="operator", **named))
    given = {"user": "mia"} | ({} if verb == "profile" else {"query": "trains"})
    seen = json.dumps(tool(world, verb, **given))
    assert mine in seen
    assert theirs not in seen


@pytest.mark.parametrize("verb", VERBS)
def test_a_person_names_whose_memory_it_is(world: World, verb: str) -> None:
    reply = world.api("operator").post(f"/provider/{verb}", body(world, verb))
    assert (reply.status, reply.code) == (422, "agent_required")


@pytest.mark.parametrize("verb", ["reflect", "profile", "graph"])
def test_a_scope_names_its_user(world: World, verb: str) -> None:
    asked = body(world, verb, scope={"namespace": "x"})
    reply = world.api("ada").post(f"/provider/{verb}", asked)
    assert (reply.status, reply.code) == (422, "invalid_scope")


# ── What ─────────────────────────────────────────────────────────────────────
def test_without_a_model_answers_are_extracted_and_say_so(world: World) -> None:
    made = keep(world)
    told = ask(world, "reflect")
    assert told["insights"][0]["content"] == FACT
    assert told["insights"][0]["supporting_memory_ids"] == [made]
    plain = {"how": "extractive", "model": None, "fault": None}
    assert told["maker"] == plain
    told = ask(world, "profile", instructions="travel")
    assert told["facts"] == [f"{FACT} [{made}]"]
    assert told["maker"] == plain
    assert ask(world, "profile", scope={"user": "nobody"})["facts"] == []


def test_a_graph_joins_records_with_their_entries(world: World) -> None:
    made = keep(world)
    told = ask(world, "graph")
    assert made in {one["id"] for one in told["nodes"]}
    assert {one["from"] for one in told["edges"]} == {made}
    nodes = ask(world, "graph", graph_scope="nodes")
    assert nodes["edges"] == []
    asked = body(world, "graph", graph_scope="all")
    assert world.api("ada").post("/provider/graph", asked).status == 422


def test_a_batch_keeps_all_or_none_and_deletes(world: World) -> None:
    good = {"mode": "verbatim", "content": FACT, "scope": LENA}
    told = ask(world, "batch", inputs=[good, {**good, "content": "Mia likes tea."}])
    ids = [one["created"][0] for one in told["results"]]
    assert Record.objects.filter(pk__in=ids).count() == 2
    bad = {**good, "content": ATTACK}
    asked = body(world, "batch", inputs=[{**good, "content": "New."}, bad])
    reply = world.api("ada").post("/provider/batch", asked)
    assert (reply.status, reply.code) == (409, "held")
    assert HeldFile.objects.count() == 1
    assert Record.objects.count() == 2
    refs = [{"id": one, "scope": LENA} for one in ids]
    foreign = [{"id": keep(world, who="bob"), "scope": LENA}]
    gone = ask(world, "batch", inputs=[], refs=refs + foreign)
    assert gone == {"results": [], "deleted": [*ids, foreign[0]["id"]]}
    left = Record.objects.filter(status="current").values_list("pk", flat=True)
    assert list(left) == [foreign[0]["id"]]


@pytest.mark.parametrize(
    "more",
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
    world: World, more: dict[str, Any]
) -> None:
    asked = body(world, "batch", **more)
    reply = world.api("ada").post("/provider/batch", asked)
    assert reply.status == 422, reply.body
    assert Record.objects.count() == 0


def test_the_tools_do_the_same(world: World) -> None:
    kept = tool(world, "batch", user="mia", contents=[FACT])["structuredContent"]
    [made] = kept["results"][0]["created"]
    told = tool(world, "reflect", user="mia", query="trains")["structuredContent"]
    assert told["insights"][0]["supporting_memory_ids"] == [made]
    told = tool(world, "graph", user="mia", query="trains", graph_scope="nodes")
    assert made in {one["id"] for one in told["structuredContent"]["nodes"]}
    gone = tool(world, "batch", user="mia", delete_ids=[made])["structuredContent"]
    assert gone["deleted"] == [made]
    assert tool(world, "profile", user="mia")["structuredContent"]["facts"] == []
    refused = tool(world, "batch", user="mia")
    assert refused["isError"] is True
    assert tool(world, "reflect", query="trains")["isError"] is True


# ── Who made it ──────────────────────────────────────────────────────────────
@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Put a model in place that rests on the memories it is given; keep requests."""
    sent: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        text = json.loads(request.content)["messages"][1]["content"]
        sent.append(text)
        ids = [line[1:21] for line in text.splitlines() if line.startswith("[rec_")]
        said = {"content": "Rail.", "confidence": 0.7, "memory_ids": ids}
        content = json.dumps({"statements": [said]})
        return httpx.Response(200, json={"message": {"content": content}})

    model = OllamaSummariser(
        "http://127.0.0.1:1", "small", transport=httpx.MockTransport(answer)
    )
    monkeypatch.setattr(consolidation, "summariser", lambda: model)
    yield sent


def test_a_model_is_sent_the_question_the_scope_and_these_memories_alone(
    world: World, asked: list[str]
) -> None:
    made = keep(world)
    keep(world, "Tom takes trains too.", user="tom")
    told = ask(world, "reflect")
    assert told["insights"] == [
        {"content": "Rail.", "confidence": 0.7, "supporting_memory_ids": [made]}
    ]
    assert told["maker"] == {"how": "model", "model": "ollama:small", "fault": None}
    told = ask(world, "profile", instructions="How does she travel?")
    assert told["summary"] == f"Rail. [{made}]"
    first, second = asked
    assert "<question>\ntrains\n</question>\n<scope>\nuser=mia" in first
    assert "How does she travel?" in second
    for text in asked:
        assert f"[{made}] {FACT}" in text
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
    monkeypatch.setattr(consolidation, "summariser", lambda: model)
    told = ask(world, "reflect")
    assert told["insights"] == plain["insights"]
    assert told["maker"] == {
        "how": "extractive",
        "model": "ollama:small",
        "fault": "bad_answer",
    }

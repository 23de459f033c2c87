"""The workspace's fusion holds for every way to recall that does not name one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from episodic.recall import checks, explain, prompt_context, ranking
from episodic.recall import request as recall_request
from episodic.recall import search as recall
from episodic.recall.ranking import Rankings
from episodic.recall.request import Request
from episodic.vectors.base import VectorScope
from memory.integrations.atomicmemory.contract import types
from memory.integrations.atomicmemory.provider.provider import NativeProvider
from memory.integrations.gateway import users
from memory.integrations.gateway.users import Limits
from memory.integrations.promptkit.protocols import Retrieve
from memory.integrations.promptkit.store import RecordStore
from memory.ports import ranker
from memory.ports.ranker import Question
from memory.records import fusion
from memory.rules.fusion import Fusion
from tests.memory import promptkit
from tests.project import source
from tests.world import World

QUERY = "refund receipt"
Way = Callable[[World], object]


def _send(method: str, path: str, world: World, body: Any, **headers: str) -> None:
    client = Client(enforce_csrf_checks=True)
    reply = client.generic(
        method, path, json.dumps(body), content_type="application/json", headers=headers
    )
    assert reply.status_code == 200, reply.content


def _api(path: str, **body: Any) -> Way:
    def ask(world: World) -> None:
        payload = {
            key: value(world) if callable(value) else value
            for key, value in body.items()
        }
        reply = world.api("ada").post(path, {"query": QUERY, **payload})
        assert reply.status == 200, reply.body

    return ask


def _mcp(tool: str) -> Way:
    def ask(world: World) -> None:
        arguments = {"name": tool, "arguments": {"query": QUERY}}
        reply = promptkit.speak(Client(), world.tokens["ada"], "tools/call", arguments)
        assert not reply["result"]["isError"], reply

    return ask


def _compat(path: str, header: str, template: str, **body: Any) -> Way:
    def ask(world: World) -> None:
        headers = {header: template.format(world.tokens["ada"])}
        _send("POST", f"/compat{path}", world, {"query": QUERY, **body}, **headers)

    return ask


def _gateway(world: World) -> None:
    owner = world.actor("owner")
    issued = users.issue(world.agents["ada"], "mia", Limits(), by=owner)
    user = {"user_id": "mia", "user_key": issued.token}
    scope = {"scope": ["all_user_memory"], "conversation_id": "c1"}
    _send("POST", "/gateway/memories/search", world, {**user, **scope, "query": QUERY})


def _native(world: World) -> None:
    world.set(provider="native")
    scope = {"workspace_id": world.acme.id, "agent_id": world.agents["ada"].id}
    _api("/provider/recall", **scope)(world)


def _page(world: World) -> None:
    assert world.page("owner").get("/recall/", {"query": QUERY}).status_code == 200


def _check(world: World) -> None:
    row, owner = world.entry(QUERY), world.actor("owner")
    check = checks.save("one", Request(query=QUERY), [row.id], by=owner)
    checks.run(check, by=owner)


def _port(world: World) -> None:
    ranker.ranker().recall(Question(query=QUERY), by=world.actor("ada"))


def _contract(world: World) -> None:
    provider = NativeProvider(world.actor("ada"))
    provider.initialize()
    provider.search(types.SearchRequest(query=QUERY, scope=types.Scope(user="lena")))


def _pipeline(world: World) -> None:
    store = RecordStore(world.actor("ada"))
    store.retrieve({"user_id": "lena"}, QUERY, Retrieve())


WAYS: dict[str, Way] = {
    "POST /episodic/recall": _api("/episodic/recall"),
    "POST /episodic/context": _api("/episodic/context"),
    "POST /episodic/why": _api("/episodic/why", entry_id=lambda w: w.entry(QUERY).id),
    "POST /memory/search/hybrid": _api("/memory/search/hybrid"),
    "POST /records/search": _api("/records/search"),
    "POST /tools/memory__recall": _api("/tools/memory__recall"),
    "MCP recall": _mcp("recall"),
    "MCP context": _mcp("context"),
    "MCP memory__recall": _mcp("memory__recall"),
    "mem0": _compat(
        "/mem0/v3/memories/search/", "Authorization", "Token {}",
        filters={"user_id": "lena"},
    ),
    "LangGraph": _compat(
        "/langgraph/store/items/search", "X-Api-Key", "{}", namespace_prefix=[]
    ),
    "AtomicMemory": _compat(
        "/atomicmemory/v1/memories/search/fast", "Authorization", "Bearer {}",
        user_id="lena",
    ),
    "gateway": _gateway,
    "provider wire over records": _native,
    "explorer": _page,
    "recall check": _check,
    "port": _port,
    "provider contract": _contract,
    "pipeline": _pipeline,
}  # fmt: skip


@pytest.fixture
def fusions(monkeypatch: pytest.MonkeyPatch) -> list[Fusion]:
    """Return the fusions that are used, as they are used."""
    used: list[Fusion] = []
    of_entries, of_records = ranking.fuse, fusion.fuse

    def entries(request: Request, rankings: Rankings) -> dict[str, float]:
        used.append(request.fused_by)
        return of_entries(request, rankings)

    def rows(words: Any, vectors: Any, fusion: Fusion) -> dict[int, float]:
        used.append(fusion)
        return of_records(words, vectors, fusion)

    monkeypatch.setattr(ranking, "fuse", entries)
    monkeypatch.setattr(fusion, "fuse", rows)
    return used


@pytest.mark.parametrize("fusion", [None, Fusion.RRF, Fusion.CONVEX])
@pytest.mark.parametrize("name", WAYS)
def test_every_way_uses_the_workspaces_fusion(
    world: World, fusions: list[Fusion], name: str, fusion: Fusion | None
) -> None:
    world.indexed("Refund denied without a receipt")
    world.record()
    world.set(fusion=fusion.value if fusion else None)
    # Another workspace's choice is its own.
    world.set("other", fusion="convex" if fusion is Fusion.RRF else "rrf")
    WAYS[name](world)
    assert set(fusions) == {fusion or Fusion.CONVEX}


def test_a_question_that_names_a_fusion_gets_it(
    world: World, fusions: list[Fusion]
) -> None:
    world.set(fusion="convex")
    _api("/episodic/recall", fusion="rrf")(world)
    assert fusions == [Fusion.RRF]
    reply = world.api("ada").post("/episodic/recall", {"query": QUERY})
    assert reply.data["fusion"] == "convex"


def test_a_new_way_cannot_forget_it(world: World) -> None:
    """A request names no fusion of its own, and one that is not settled is refused."""
    request = Request(query=QUERY)
    assert request.fusion is None
    with pytest.raises(ValueError, match="settle"):
        ranking.fuse(request, Rankings(VectorScope(workspace_id="w", model="")))
    world.set(fusion="convex")
    assert recall_request.settled(request, world.acme.id).fused_by is Fusion.CONVEX
    assert (
        recall.search(request, by=world.actor("ada")).request.fused_by is Fusion.CONVEX
    )


def test_the_rule_is_read_in_two_places() -> None:
    """Where entries are ranked, and where records are; the bench shows the default."""
    readers = {
        source.name(path)
        for path in source.sources()
        if re.search(
            r"\bdeclarations\.FUSION\b(?!\.default)", path.read_text(encoding="utf-8")
        )
    }
    assert readers == {"episodic/recall/request.py", "memory/records/ranked_search.py"}


def test_the_ports_that_pass_a_request_on(world: World) -> None:
    world.set(fusion="convex")
    row = world.indexed("Refund denied without a receipt")
    by, request = world.actor("ada"), Request(query=QUERY)
    assert prompt_context.build(request, by=by).answer.request.fused_by is Fusion.CONVEX
    assert (
        explain.explain(request, row.id, by=by).answer.request.fused_by is Fusion.CONVEX
    )

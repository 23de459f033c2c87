"""What arrives over a dialect in one conversation shares a trace id, and nothing else.

Recall takes the entries before an entry in its trace as its context, and trace ids are
shown: they connect turns of one conversation, and name nobody.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db.models import QuerySet
from django.test import Client

from memory import records
from memory.integrations.gateway import server as gateway_server
from memory.integrations.gateway import users
from memory.models import JournalEntry
from memory.records import Criteria
from tests.integrations.atomicmemory_client import V1
from tests.integrations.gateway_client import GatewayClient
from tests.world import World

SESSION = "harriet.miller@example.com"
TRACE = re.compile(r"t_[0-9a-f]{16}")
# The name of the agent, the end user and the session, and what is said.
Say = Callable[[World, str, str, str, str], None]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_server, "SETTLE_SECONDS", 0.0)


def _post(path: str, token: str, body: Any, **headers: str) -> Any:
    reply = Client().generic(
        "POST",
        path,
        json.dumps(body),
        content_type="application/json",
        headers={"Authorization": token, **headers},
    )
    assert reply.status_code in (200, 201), reply.content
    return reply


def _issued(world: World, agent: str, user: str) -> GatewayClient:
    admin = world.actor("stranger" if agent == "olga" else "owner")
    return GatewayClient(users.issue(world.agents[agent], user, by=admin))


def gateway(world: World, agent: str, user: str, session: str, text: str) -> None:
    _issued(world, agent, user).add(text, f"chat:{session}", sender_id="someone")


def mem0(world: World, agent: str, user: str, session: str, text: str) -> None:
    body = {"messages": text, "user_id": user, "run_id": session, "infer": False}
    _post("/compat/mem0/v3/memories/add/", f"Token {world.tokens[agent]}", body)


def atomicmemory(world: World, agent: str, user: str, session: str, text: str) -> None:
    body = {"user_id": user, "conversation": f"user: {text}", "session_id": session}
    _post(f"{V1}/ingest", f"Bearer {world.tokens[agent]}", body)


def turn(world: World, agent: str, user: str, session: str, text: str) -> None:
    world.set("other" if agent == "olga" else "acme", turns_use_memories=True)
    body = {"conversation_id": session, "prompt": text, "answer": "Noted."}
    headers = {"X-End-User": user}
    _post("/api/v1/turns/persist", f"Bearer {world.tokens[agent]}", body, **headers)


def record(world: World, agent: str, user: str, session: str, text: str) -> None:
    body = {"content": text, "scope": {"user": user}, "session_id": session}
    _post("/api/v1/records", f"Bearer {world.tokens[agent]}", body)


def thread(world: World, agent: str, user: str, session: str, text: str) -> None:
    body = {"content": text, "scope": {"user": user, "thread": session}}
    _post("/api/v1/records", f"Bearer {world.tokens[agent]}", body)


def batch(world: World, agent: str, user: str, session: str, text: str) -> None:
    scope = {"user": user, "thread": session}
    body = {
        "workspace_id": world.agents[agent].workspace_id,
        "inputs": [{"mode": "verbatim", "content": text, "scope": scope}],
    }
    _post("/api/v1/provider/batch", f"Bearer {world.tokens[agent]}", body)


SAYS = [gateway, mem0, atomicmemory, turn, record, thread, batch]


def _entries() -> QuerySet[JournalEntry]:
    return JournalEntry.objects.filter(entry_type__in=records.TYPES).order_by("seq")


def _traces() -> list[str | None]:
    return [entry.trace_id for entry in _entries()]


@pytest.mark.parametrize("say", SAYS, ids=lambda say: say.__name__)
def test_a_trace_is_one_conversation_of_one_agent_with_one_user(
    world: World, say: Say
) -> None:
    turns = [
        ("ada", "harriet", SESSION, "I prefer green tea."),
        ("ada", "harriet", SESSION, "I live in Graz."),
        ("ada", "harriet", "another", "I prefer black coffee."),
        ("ada", "mia", SESSION, "I prefer cold water."),
        ("bob", "harriet", SESSION, "I prefer oat milk."),
        ("olga", "harriet", SESSION, "I prefer hot cocoa."),
    ]
    for agent, user, session, text in turns:
        say(world, agent, user, session, text)
    entries = list(_entries().order_by("recorded_at", "workspace_id", "seq"))
    assert [text for *_, text in turns] == [entry.summary for entry in entries]
    first, second, *rest = [entry.trace_id or "" for entry in entries]
    assert first == second
    assert len({first, *rest}) == len(turns) - 1
    assert all(TRACE.fullmatch(trace) for trace in (first, *rest))


def _add_many(world: World, **fields: Any) -> None:
    messages = [
        {"role": "user", "content": f"I prefer tea number {n}."} for n in range(3)
    ]
    body = {"messages": messages, "user_id": "harriet", **fields}
    _post("/compat/mem0/v3/memories/add/", f"Token {world.tokens['ada']}", body)


def _ingest_many(world: World, user: str = "harriet") -> None:
    lines = "\n".join(f"user: I prefer tea number {n}." for n in range(3))
    body = {"user_id": user, "conversation": lines}
    _post(f"{V1}/ingest", f"Bearer {world.tokens['ada']}", body)


@pytest.mark.parametrize("add", [_add_many, _ingest_many])
def test_a_call_without_a_session_is_a_conversation_of_its_own(
    world: World, add: Callable[[World], None]
) -> None:
    add(world)
    [trace] = set(_traces())
    assert trace is not None
    assert TRACE.fullmatch(trace)
    summaries = [entry.summary for entry in _entries()]
    assert [text.rstrip(".")[-1] for text in summaries] == ["0", "1", "2"]


def test_calls_without_a_session_are_not_connected(world: World) -> None:
    _ingest_many(world)
    _ingest_many(world, "mia")
    _add_many(world, infer=False, user_id="lena")
    assert [len({*_traces()[n : n + 3]}) for n in (0, 3, 6)] == [1, 1, 1]
    assert len(set(_traces())) == 3


def test_one_statement_without_a_session_has_no_trace(world: World) -> None:
    token = world.tokens["ada"]
    body: dict[str, Any] = {"messages": "I prefer tea.", "user_id": "harriet"}
    _post("/compat/mem0/v3/memories/add/", f"Token {token}", body)
    body = {"user_id": "mia", "conversation": "user: I prefer tea."}
    _post(f"{V1}/ingest", f"Bearer {token}", body)
    body = {"command": "create", "path": "/memories/a.md", "file_text": "Tea."}
    _post("/compat/anthropic/memory", f"Bearer {token}", body)
    body = {"content": "Tea is green.", "scope": {"user": "harriet"}}
    _post("/api/v1/records", f"Bearer {token}", body)
    assert _traces() == [None] * 4


def test_the_messages_of_one_call_keep_their_order(world: World) -> None:
    mia = _issued(world, "ada", "mia")
    texts = [f"Message number {n}" for n in (3, 1, 2)]
    # The clock of a sender says nothing about what was said first.
    messages = [
        {"sender_id": "mia", "role": "user", "timestamp": 9 - n, "content": text}
        for n, text in enumerate(texts)
    ]
    mia.call("add", session_id="chat:c1", messages=messages)
    assert [entry.summary for entry in _entries()] == texts
    assert len(set(_traces())) == 1


def test_a_batch_of_said_and_given_texts_keeps_its_order(world: World) -> None:
    scope = {"user": "harriet", "thread": "t1"}
    batch = {
        "mode": "verbatim",
        "scope": scope,
        "metadata": {"externalId": "tea"},
    }
    inputs = [
        {"mode": "verbatim", "content": "One.", "scope": scope},
        {"mode": "text", "content": "I prefer tea number two.", "scope": scope},
        {**batch, "content": "Three."},
    ]
    body = {"workspace_id": world.acme.id, "inputs": inputs}
    _post("/api/v1/provider/batch", f"Bearer {world.tokens['ada']}", body)
    # A new version of the third comes before the fourth, as it was said.
    new = {"mode": "verbatim", "content": "Five.", "scope": scope}
    body = {**body, "inputs": [{**batch, "content": "Four."}, new]}
    _post("/api/v1/provider/batch", f"Bearer {world.tokens['ada']}", body)
    summaries = [entry.summary for entry in _entries()]
    assert summaries == ["One.", "I prefer tea number two.", "Three.", "Four.", "Five."]
    assert len(set(_traces())) == 1


def test_the_turns_of_a_conversation_are_records_of_its_session(world: World) -> None:
    turn(world, "ada", "harriet", "c1", "I prefer green tea.")
    ada = world.actor("ada")
    [row] = records.page(Criteria(session_id="c1"), limit=9, by=ada).rows
    assert row.content == "I prefer green tea."

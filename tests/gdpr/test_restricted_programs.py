"""No program finds a restricted person: integrations, MCP, exports of the journal.

Each walk is made twice. Before the restriction it finds the person, which shows that it
looks in the right place; afterwards it finds nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from django.test import Client

from gdpr.subjects import restriction
from memory.models import Record
from tests.gdpr import erasing
from tests.gdpr.test_restricted_reading import MAIL, NAME, WORDS
from tests.memory.promptkit import speak
from tests.world import World

pytestmark = pytest.mark.django_db
USER: Final = {"user_id": "u1"}
NOTES: Final = "/memories/notes.md"
Walk = Callable[[World, str], Iterator[tuple[str, str]]]


def _text(reply: Any) -> str:
    body = b"".join(reply.streaming_content) if reply.streaming else reply.content
    return str(body.decode("utf-8", "replace"))


def _send(world: World, person: str, method: str, path: str, body: Any = None) -> str:
    token = world.tokens[person]
    reply = Client().generic(
        method,
        path,
        "" if body is None else json.dumps(body),
        content_type="application/json",
        headers={"Authorization": f"Bearer {token}", "X-Api-Key": token},
    )
    return _text(reply) if reply.status_code < 400 else ""


def _records(world: World) -> list[str]:
    return [str(pk) for pk in Record.objects.values_list("pk", flat=True)]


# ── The walks ────────────────────────────────────────────────────────────────
def _mem0(world: World, person: str) -> Iterator[tuple[str, str]]:
    top, query = "/compat/mem0", {"query": "tea", "filters": USER}
    calls: list[tuple[str, str, Any]] = [
        ("POST", "/v3/memories/search/", query),
        ("POST", "/v3/memories/", {"filters": USER}),
        ("POST", "/v2/memories/search/", query),
        ("POST", "/v2/memories/", {"filters": USER}),
        ("POST", "/v1/memories/search/", {"query": "tea", **USER}),
        ("GET", f"/v1/memories/?{urlencode(USER)}", None),
        *(("GET", f"/v1/memories/{pk}/", None) for pk in _records(world)),
        *(("GET", f"/v1/memories/{pk}/history/", None) for pk in _records(world)),
    ]
    for method, path, body in calls:
        yield path, _send(world, person, method, f"{top}{path}", body)


def _atomicmemory(world: World, person: str) -> Iterator[tuple[str, str]]:
    top, query = "/compat/atomicmemory/v1/memories", {"query": "tea", **USER}
    ids = _records(world)
    calls: list[tuple[str, str, Any]] = [
        ("POST", "/search", query),
        ("POST", "/search/fast", query),
        ("POST", "/expand", {**USER, "memory_ids": ids}),
        ("GET", f"/list?{urlencode(USER)}", None),
        ("GET", f"/audit/recent?{urlencode(USER)}", None),
        ("GET", f"/lessons?{urlencode(USER)}", None),
        *(("GET", f"/{pk}?{urlencode(USER)}", None) for pk in ids),
        *(("GET", f"/{pk}/audit?{urlencode(USER)}", None) for pk in ids),
    ]
    for method, path, body in calls:
        yield path, _send(world, person, method, f"{top}{path}", body)


def _langgraph(world: World, person: str) -> Iterator[tuple[str, str]]:
    top = "/compat/langgraph/store"
    query = {"namespace_prefix": ["notes"], "query": "tea"}
    for body in (query, {"namespace_prefix": ["notes"]}):
        path = "/items/search"
        yield path, _send(world, person, "POST", f"{top}{path}", body)
    path = f"/items?{urlencode({'key': 'drink', 'namespace': 'notes'})}"
    yield path, _send(world, person, "GET", f"{top}{path}")


def _anthropic(world: World, person: str) -> Iterator[tuple[str, str]]:
    for path in ("/memories", NOTES):
        body = {"command": "view", "path": path}
        yield path, _send(world, person, "POST", "/compat/anthropic/memory", body)


def _mcp(world: World, person: str) -> Iterator[tuple[str, str]]:
    token = world.tokens[person]
    tools = speak(Client(), token, "tools/list")["result"]["tools"]
    for tool in tools:
        name = tool["name"]
        if any(verb in name for verb in ("write", "append", "remember", "forget")):
            continue
        for arguments in (
            {},
            {"query": "tea"},
            {"query": "refund denied"},
            {"q": "tea"},
            {"tier": "AGENT"},
            *({"id": pk} for pk in _records(world)),
        ):
            params = {"name": name, "arguments": arguments}
            yield name, json.dumps(speak(Client(), token, "tools/call", params))


def _turns(world: World, person: str) -> Iterator[tuple[str, str]]:
    path = "/api/v1/turns/recall"
    for prompt in ("refund denied", "tea"):
        # A conversation keeps what it was first told.
        body = {"conversation_id": uuid4().hex, "prompt": prompt}
        yield prompt, _send(world, person, "POST", path, body)


def _exports(world: World, person: str) -> Iterator[tuple[str, str]]:
    page = world.page(person)
    for kind in ("csv", "jsonl"):
        for query in ("", "?q=refund", "?show=all"):
            reply = page.post(f"/journal/export/{query}", {"format": kind})
            yield f"{kind}{query}", _text(reply) if reply.status_code < 400 else ""


WALKS: Final[dict[str, tuple[Walk, tuple[str, ...]]]] = {
    "mem0": (_mem0, ("ada",)),
    "atomicmemory": (_atomicmemory, ("ada",)),
    "langgraph": (_langgraph, ("ada",)),
    "anthropic": (_anthropic, ("ada",)),
    "mcp": (_mcp, ("ada", "operator", "viewer")),
    "turns": (_turns, ("ada",)),
    "exports of the journal": (_exports, ("viewer", "operator")),
}


# ── Both times ───────────────────────────────────────────────────────────────
def _write(world: World) -> None:
    """Write about a person in every way that the walks read."""
    world.indexed(f"Refund denied to {NAME}", payload={"text": f"{MAIL} query"})
    world.record(f"{NAME} prefers tea")
    world.file(f"{NAME} likes tea.")
    item = {"namespace": ["notes"], "key": "drink", "value": {"text": f"{NAME}: tea"}}
    _send(world, "ada", "PUT", "/compat/langgraph/store/items", item)
    note = {"command": "create", "path": NOTES, "file_text": f"{NAME} likes tea"}
    _send(world, "ada", "POST", "/compat/anthropic/memory", note)


def _leaks(walk: Walk, world: World, person: str) -> set[str]:
    return {
        call
        for call, text in walk(world, person)
        if any(word in text.lower() for word in WORDS)
    }


@pytest.mark.parametrize("name", WALKS)
def test_no_program_finds_a_restricted_person(shared_world: World, name: str) -> None:
    walk, people = WALKS[name]
    _write(shared_world)
    for person in people:
        assert _leaks(walk, shared_world, person), person
    subject = erasing.subject(
        shared_world, ("name", NAME), ("email", MAIL), display_name=NAME
    )
    restriction.restrict(subject, by=shared_world.actor("compliance"))
    for person in people:
        assert _leaks(walk, shared_world, person) == set(), person

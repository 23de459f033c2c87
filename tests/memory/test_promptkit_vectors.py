"""PromptKit's contract as vectors: the same over its test store, records, HTTP, MCP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memory.integrations.promptkit.memories import Memory
from memory.integrations.promptkit.protocols import Listing, Retrieve, Store
from memory.integrations.promptkit.store import RecordStore
from memory.integrations.promptkit.testing import InMemoryStore
from tests.memory import promptkit
from tests.memory.promptkit import RUNNERS, VECTORS, Matcher, Runner
from tests.world import World

STORES: dict[str, Callable[[World], Store]] = {
    "test store": lambda _: InMemoryStore(),
    "records": lambda world: RecordStore(promptkit.somebody(world)[0]),
}


def play(vector: dict[str, Any], run: Runner) -> list[dict[str, Any]]:
    """Run a vector's steps, hold each answer against its promise, return them all."""
    matcher, answers = Matcher(), []
    for step in vector["steps"]:
        found = run(step["tool"], matcher.fill(step["arguments"]))
        answers.append(found)
        if "error" in step:
            assert step["error"] in found.get("error", ""), found
        else:
            assert matcher.fits(step["result"], found), found
    return answers


@pytest.mark.parametrize("vector", VECTORS["tools"], ids=lambda one: one["name"])
def test_the_tools_keep_their_promise_everywhere(
    world: World, vector: dict[str, Any]
) -> None:
    told = {}
    for name, make in RUNNERS.items():
        told[name] = promptkit.plain(play(vector, make(world)))
    assert told["records"] == told["http"] == told["mcp"]


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("vector", VECTORS["stores"], ids=lambda one: one["name"])
def test_a_store_keeps_its_promise(
    world: World, vector: dict[str, Any], store: str
) -> None:
    made: Store = STORES[store](world)
    ids: dict[str, str] = {}
    for step in vector["steps"]:
        if step["do"] == "save":
            memory = Memory(**step["memory"])
            made.save(memory)
            assert memory.id and memory.created_at and memory.accessed_at
            ids[step["as"]] = memory.id
            continue
        found = _do(made, step, ids)
        if found is not None:
            wanted = [ids[name] for name in step["found"]]
            got = [one.id for one in found]
            ranked = step["do"] == "retrieve"
            assert (sorted(got) if ranked else got) == (
                sorted(wanted) if ranked else wanted
            )
            assert all(one.scope == step["scope"] for one in found)


def _do(store: Store, step: dict[str, Any], ids: dict[str, str]) -> list[Memory] | None:
    scope, types = step["scope"], tuple(step.get("types", ()))
    if step["do"] == "retrieve":
        least = step.get("min_confidence", 0.0)
        options = Retrieve(types=types, min_confidence=least)
        return store.retrieve(scope, step["query"], options)
    if step["do"] == "list":
        limit, offset = step.get("limit", 0), step.get("offset", 0)
        return store.list(scope, Listing(types=types, limit=limit, offset=offset))
    if step["do"] == "delete":
        store.delete(scope, ids.get(step["id"], step["id"]))
    else:
        store.delete_all(scope)
    return None

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
    "records": lambda world: RecordStore(promptkit.actor_and_token(world)[0]),
}


def play(vector: dict[str, Any], run: Runner) -> list[dict[str, Any]]:
    """Run a vector's steps, compare each with its expectation, return the results."""
    matcher, answers = Matcher(), []
    for step in vector["steps"]:
        result = run(step["tool"], matcher.fill(step["arguments"]))
        answers.append(result)
        if "error" in step:
            assert step["error"] in result.get("error", ""), result
        else:
            assert matcher.fits(step["result"], result), result
    return answers


@pytest.mark.parametrize("vector", VECTORS["tools"], ids=lambda case: case["name"])
def test_the_tools_keep_their_promise_everywhere(
    world: World, vector: dict[str, Any]
) -> None:
    results = {}
    for name, make in RUNNERS.items():
        results[name] = promptkit.plain(play(vector, make(world)))
    assert results["records"] == results["http"] == results["mcp"]


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("vector", VECTORS["stores"], ids=lambda case: case["name"])
def test_a_store_keeps_its_promise(
    world: World, vector: dict[str, Any], store: str
) -> None:
    memory_store: Store = STORES[store](world)
    ids: dict[str, str] = {}
    for step in vector["steps"]:
        if step["do"] == "save":
            memory = Memory(**step["memory"])
            memory_store.save(memory)
            assert memory.id and memory.created_at and memory.accessed_at
            ids[step["as"]] = memory.id
            continue
        result = _do(memory_store, step, ids)
        if result is not None:
            expected = [ids[name] for name in step["found"]]
            got = [case.id for case in result]
            ranked = step["do"] == "retrieve"
            assert (sorted(got) if ranked else got) == (
                sorted(expected) if ranked else expected
            )
            assert all(case.scope == step["scope"] for case in result)


def _do(store: Store, step: dict[str, Any], ids: dict[str, str]) -> list[Memory] | None:
    scope, types = step["scope"], tuple(step.get("types", ()))
    if step["do"] == "retrieve":
        min_confidence = step.get("min_confidence", 0.0)
        options = Retrieve(types=types, min_confidence=min_confidence)
        return store.retrieve(scope, step["query"], options)
    if step["do"] == "list":
        limit, offset = step.get("limit", 0), step.get("offset", 0)
        return store.list(scope, Listing(types=types, limit=limit, offset=offset))
    if step["do"] == "delete":
        store.delete(scope, ids.get(step["id"], step["id"]))
    else:
        store.delete_all(scope)
    return None

"""What one integration forgets is gone from every other, and from the tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from episodic.index import sweep as index
from memory.models import Record
from tests.memory.test_records_erasure import everything_stored
from tests.world import World

# Nothing reads like it, so whatever still says it has kept it.
CANARY = "quagmirezephyr"
TEXT = f"Harriet keeps the {CANARY} in the shed."
ATOMIC, MEM0 = "/compat/atomicmemory/v1/memories", "/compat/mem0"
STORE, API = "/compat/langgraph/store", "/api/v1"
ITEM = {"namespace": ["users", "harriet"], "key": "shed"}


class House:
    """Sends requests to every integration with ada's key."""

    def __init__(self, world: World) -> None:
        self.headers = {"Authorization": f"Bearer {world.tokens['ada']}"}
        self.seen: list[str] = []

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        response = Client().generic(
            method,
            path,
            "" if body is None else json.dumps(body),
            content_type="application/json",
            headers=self.headers,
        )
        text = response.content.decode()
        self.seen.append(text)
        assert response.status_code < 500, (path, text)
        return json.loads(text) if text.startswith(("{", "[")) else None


def _by_records(house: House) -> None:
    record = house("POST", f"{API}/records", {"content": TEXT})
    assert house("DELETE", f"{API}/records/{record['id']}", {"reason": "asked"})


def _by_tool(house: House) -> None:
    tools = f"{API}/tools/memory__"
    memory = house("POST", f"{tools}remember", {"content": TEXT})
    house("POST", f"{tools}forget", {"memory_id": memory["id"]})


def _by_mem0(house: House) -> None:
    body = {"messages": TEXT, "user_id": "harriet"}
    added = house("POST", f"{MEM0}/v3/memories/add/", body)["results"][0]
    update = {"text": f"{TEXT} No more."}
    house("PUT", f"{MEM0}/v1/memories/{added['id']}/", update)
    house("DELETE", f"{MEM0}/v1/memories/{added['id']}/")


def _by_mem0_user(house: House) -> None:
    body = {"messages": TEXT, "user_id": "harriet"}
    house("POST", f"{MEM0}/v3/memories/add/", body)
    house("DELETE", f"{MEM0}/v1/memories/?user_id=harriet")


def _by_langgraph(house: House) -> None:
    for cups in (1, 2):
        value = {"text": TEXT, "cups": cups, "tags": [CANARY]}
        house("PUT", f"{STORE}/items", {**ITEM, "value": value})
    house("DELETE", f"{STORE}/items", ITEM)


def _by_atomicmemory(house: House) -> None:
    body = {"user_id": "harriet", "conversation": TEXT, "skip_extraction": True}
    extra = {"metadata": {"note": CANARY}, "source_url": f"https://{CANARY}.example"}
    ingested = house("POST", f"{ATOMIC}/ingest/quick", {**body, **extra})
    [memory_id] = ingested["stored_memory_ids"]
    house("DELETE", f"{ATOMIC}/{memory_id}?user_id=harriet")


WAYS = (
    *(_by_records, _by_tool, _by_mem0, _by_mem0_user, _by_langgraph),
    _by_atomicmemory,
)


def _reads(record_id: str) -> list[tuple[str, str, Any]]:
    """Return every request that reads memories."""
    query, harriet = "Harriet keeps what in the shed", {"user_id": "harriet"}
    search_body = {**harriet, "query": query}
    filters = {"filters": harriet}
    return [
        ("GET", f"{API}/records", None),
        ("GET", f"{API}/records?q=shed", None),
        ("GET", f"{API}/records/{record_id}", None),
        ("GET", f"{API}/records/{record_id}/history", None),
        ("POST", f"{API}/records/search", {"query": query}),
        ("GET", f"{API}/journal", None),
        ("GET", f"{API}/journal?q=shed", None),
        ("POST", f"{API}/episodic/recall", {"query": query}),
        ("POST", f"{API}/tools/memory__recall", {"query": query}),
        ("POST", f"{API}/tools/memory__list", {}),
        ("POST", f"{MEM0}/v3/memories/search/", {"query": query, **filters}),
        ("POST", f"{MEM0}/v3/memories/", filters),
        ("GET", f"{MEM0}/v1/memories/{record_id}/", None),
        ("GET", f"{MEM0}/v1/memories/{record_id}/history/", None),
        ("POST", f"{STORE}/items/search", {"namespace_prefix": [], "query": query}),
        ("GET", f"{STORE}/items?key=shed&namespace=users.harriet", None),
        ("POST", f"{ATOMIC}/search", search_body),
        ("POST", f"{ATOMIC}/search/fast", search_body),
        ("GET", f"{ATOMIC}/list?user_id=harriet", None),
        ("GET", f"{ATOMIC}/{record_id}?user_id=harriet", None),
        ("GET", f"{ATOMIC}/{record_id}/audit?user_id=harriet", None),
        ("GET", f"{ATOMIC}/audit/recent?user_id=harriet", None),
    ]


@pytest.mark.parametrize("forget", WAYS)
def test_what_one_wire_forgets_no_other_tells(
    world: World, forget: Callable[[House], None]
) -> None:
    house = House(world)
    forget(house)
    index.sweep()
    [row] = Record.objects.filter(workspace_id=world.acme.id)
    assert (row.status, row.content, row.metadata) == ("forgotten", "", {})
    house.seen.clear()
    for request in _reads(row.id):
        house(*request)
    assert not [text for text in house.seen if CANARY in text]
    assert CANARY not in everything_stored()


def test_the_reads_would_tell(world: World) -> None:
    """Check the reads above: before anything is forgotten, each finds it."""
    house = House(world)
    house("POST", f"{API}/tools/memory__remember", {"content": TEXT})
    house("PUT", f"{STORE}/items", {**ITEM, "value": {"text": TEXT}})
    body = {"messages": TEXT, "user_id": "harriet"}
    added = house("POST", f"{MEM0}/v3/memories/add/", body)["results"][0]
    index.sweep()
    house.seen.clear()
    reads = _reads(added["id"])
    for request in reads:
        house(*request)
    read_responses = zip(reads, house.seen, strict=True)
    silent = [path for (_, path, _), text in read_responses if CANARY not in text]
    assert silent == []

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


class RecordingClient:
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


def _by_records(client: RecordingClient) -> None:
    record = client("POST", f"{API}/records", {"content": TEXT})
    assert client("DELETE", f"{API}/records/{record['id']}", {"reason": "asked"})


def _by_tool(client: RecordingClient) -> None:
    tools = f"{API}/tools/memory__"
    memory = client("POST", f"{tools}remember", {"content": TEXT})
    client("POST", f"{tools}forget", {"memory_id": memory["id"]})


def _by_mem0(client: RecordingClient) -> None:
    body = {"messages": TEXT, "user_id": "harriet"}
    added = client("POST", f"{MEM0}/v3/memories/add/", body)["results"][0]
    update = {"text": f"{TEXT} No more."}
    client("PUT", f"{MEM0}/v1/memories/{added['id']}/", update)
    client("DELETE", f"{MEM0}/v1/memories/{added['id']}/")


def _by_mem0_user(client: RecordingClient) -> None:
    body = {"messages": TEXT, "user_id": "harriet"}
    client("POST", f"{MEM0}/v3/memories/add/", body)
    client("DELETE", f"{MEM0}/v1/memories/?user_id=harriet")


def _by_langgraph(client: RecordingClient) -> None:
    for cups in (1, 2):
        value = {"text": TEXT, "cups": cups, "tags": [CANARY]}
        client("PUT", f"{STORE}/items", {**ITEM, "value": value})
    client("DELETE", f"{STORE}/items", ITEM)


def _by_atomicmemory(client: RecordingClient) -> None:
    body = {"user_id": "harriet", "conversation": TEXT, "skip_extraction": True}
    extra = {"metadata": {"note": CANARY}, "source_url": f"https://{CANARY}.example"}
    ingested = client("POST", f"{ATOMIC}/ingest/quick", {**body, **extra})
    [memory_id] = ingested["stored_memory_ids"]
    client("DELETE", f"{ATOMIC}/{memory_id}?user_id=harriet")


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
    world: World, forget: Callable[[RecordingClient], None]
) -> None:
    client = RecordingClient(world)
    forget(client)
    index.sweep()
    [row] = Record.objects.filter(workspace_id=world.acme.id)
    assert (row.status, row.content, row.metadata) == ("forgotten", "", {})
    client.seen.clear()
    for request in _reads(row.id):
        client(*request)
    assert not [text for text in client.seen if CANARY in text]
    assert CANARY not in everything_stored()


def test_the_reads_would_tell(world: World) -> None:
    """Check the reads above: before anything is forgotten, each finds it."""
    client = RecordingClient(world)
    client("POST", f"{API}/tools/memory__remember", {"content": TEXT})
    client("PUT", f"{STORE}/items", {**ITEM, "value": {"text": TEXT}})
    body = {"messages": TEXT, "user_id": "harriet"}
    added = client("POST", f"{MEM0}/v3/memories/add/", body)["results"][0]
    index.sweep()
    client.seen.clear()
    reads = _reads(added["id"])
    for request in reads:
        client(*request)
    read_responses = zip(reads, client.seen, strict=True)
    silent = [path for (_, path, _), text in read_responses if CANARY not in text]
    assert silent == []

"""Files, versions and hybrid search over HTTP."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from memory.files import versions
from memory.models import MemoryVersion
from tests.world import World


@pytest.fixture(autouse=True)
def _no_files() -> Iterator[None]:
    """Rows roll back after a test; what lies on disk does not."""
    yield
    for name in ("files", "blobs"):
        shutil.rmtree(Path(settings.DATA_DIR) / name, ignore_errors=True)


def _write(world: World, text: str, caller: str = "ada", tier: str = "AGENT") -> None:
    body = {"tier": tier, "content": text, "mode": "replace"}
    assert world.api(caller).post("/memory/tools/memory.write", body).data["ok"]


def test_people_see_the_tree_and_agents_their_part(world: World) -> None:
    _write(world, "Ada's.")
    _write(world, "Bob's.", "bob")
    _write(world, "Ours.", "lena", "CREW")
    full = world.api("viewer").get("/memory/files").data["crews"]
    assert {crew["crew"] for crew in full} == {"support", "billing"}
    own = world.api("ada").get("/memory/files").data["crews"]
    assert [crew["crew"] for crew in own] == ["support"]
    assert [agent["agent"] for agent in own[0]["agents"]] == ["ada"]
    assert own[0]["files"][0]["label"] == "CREW.md"
    foreign = {"agent_id": world.agents["olga"].id}
    assert world.api("viewer").get("/memory/files", foreign).status == 404


def test_a_file_is_read_with_its_hash(world: World) -> None:
    _write(world, "Ada's.")
    text = world.api("ada").get("/memory/files/AGENT.md").data
    assert (text["content"], text["bytes"], text["held"]) == ("Ada's.", 6, False)
    viewer = world.api("viewer")
    ada = {"agent_id": world.agents["ada"].id}
    assert viewer.get("/memory/files/AGENT.md", ada).data["sha256"] == text["sha256"]
    assert viewer.get("/memory/files/AGENT.md").status == 422
    for label in ("../AGENT.md", "agent.md", "pins.md", "daily/2026-02-30.md"):
        assert viewer.get(f"/memory/files/{label}", ada).status == 404
    for caller in ("lena", "bob", "olga", "stranger"):
        assert world.api(caller).get("/memory/files/AGENT.md", ada).status == 404


def test_versions_are_listed_read_and_restored(world: World) -> None:
    _write(world, "Wörds one.")
    _write(world, "Words two.")
    operator = world.api("operator")
    params = {"path": "AGENT.md", "agent_id": world.agents["ada"].id}
    items = operator.get("/memory/versions", params).data["items"]
    assert [item["number"] for item in items] == [2, 1]
    assert items[0]["parent_sha256"] == items[1]["sha256"]
    old = items[1]["sha256"]
    reply = operator.get(f"/memory/versions/{old}", params)
    assert reply.body.decode() == "Wörds one."
    assert reply.headers["Content-Type"] == "text/plain; charset=utf-8"
    outcome = operator.post(f"/memory/versions/{old}/restore", params)
    assert (outcome.data["number"], outcome.data["source"]) == (3, "restore")
    path = {"path": "AGENT.md"}
    assert world.api("ada").post(f"/memory/versions/{old}/restore", path).status == 403
    assert operator.get(f"/memory/versions/{'0' * 64}", params).status == 404
    assert world.api("olga").get(f"/memory/versions/{old}", path).status == 404


def test_a_damaged_version_is_not_served(world: World) -> None:
    _write(world, "Whole.")
    row = MemoryVersion.objects.get()
    parts = (row.workspace_id, row.sha256[:2], row.sha256)
    versions.blobs().write(parts, b"Forged.")
    reply = world.api("ada").get(f"/memory/versions/{row.sha256}", {"path": "AGENT.md"})
    assert (reply.status, reply.code) == (409, "blob_damaged")


def test_hybrid_search_merges_files_and_journal(world: World) -> None:
    _write(world, "The flamingo file.")
    world.indexed("The flamingo entry")
    world.indexed("The flamingo of billing", by="bob")
    hits = (
        world.api("ada")
        .post("/memory/search/hybrid", {"query": "flamingo"})
        .data["hits"]
    )
    assert {hit["source"] for hit in hits} == {"file", "journal"}
    assert hits[0]["score"] == 1.0
    assert all("billing" not in hit["snippet"] for hit in hits)
    assert (
        world.api("olga")
        .post("/memory/search/hybrid", {"query": "flamingo"})
        .data["hits"]
        == []
    )
    body = {"query": "flamingo", "crew_id": world.crews["billing"].id}
    assert world.api("ada").post("/memory/search/hybrid", body).status == 404
    response = world.api("viewer").post("/memory/search/hybrid", body).data["hits"]
    assert [hit["snippet"] for hit in response] == ["The flamingo of billing"]

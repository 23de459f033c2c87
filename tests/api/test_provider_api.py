"""The provider wire: whose memory, what comes back, what is refused."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from memory.providers import registry
from tests.world import World

pytestmark = pytest.mark.usefixtures("patient_health")


@pytest.fixture(autouse=True)
def _no_files() -> Iterator[None]:
    """Rows roll back after a test; what lies on disk does not."""
    yield
    for name in ("files", "blobs"):
        shutil.rmtree(Path(settings.DATA_DIR) / name, ignore_errors=True)


def _retain(world: World, **extra: str) -> dict[str, str]:
    body = {"workspace_id": world.acme.id, "tier": "AGENT", "mode": "replace"}
    return {**body, "content": "The heron is tall.", **extra}


def test_an_agent_keeps_finds_and_forgets(world: World) -> None:
    ada = world.api("ada")
    saved = ada.post("/provider/retain", _retain(world))
    assert (saved.status, saved.data["id"]) == (200, "AGENT.md")
    response = ada.post(
        "/provider/recall", {"workspace_id": world.acme.id, "query": "heron"}
    )
    assert response.data["hits"][0]["source"] == "AGENT.md"
    assert "quarantined" not in response.data
    deleted = {"workspace_id": world.acme.id, "id": "AGENT.md"}
    assert ada.post("/provider/forget", deleted).data == {"removed": 1}
    assert ada.post("/provider/forget", deleted).data == {"removed": 0}
    assert ada.get("/provider/health").data["ok"] is True


@pytest.mark.parametrize("caller", ["lena", "bob", "olga"])
def test_nobody_acts_as_another_agent(world: World, caller: str) -> None:
    body = _retain(world, agent_id=world.agents["ada"].id)
    assert world.api(caller).post("/provider/retain", body).status == 404


def test_another_workspace_is_not_found(world: World) -> None:
    body = _retain(world, workspace_id=world.other.id)
    assert world.api("ada").post("/provider/retain", body).status == 404


def test_an_operator_names_the_agent(world: World) -> None:
    operator = world.api("operator")
    assert operator.post("/provider/retain", _retain(world)).status == 422
    body = _retain(world, agent_id=world.agents["ada"].id)
    assert operator.post("/provider/retain", body).status == 200
    foreign = _retain(world, agent_id=world.agents["olga"].id)
    assert operator.post("/provider/retain", foreign).status == 404
    assert world.api("viewer").post("/provider/retain", body).status == 403
    assert world.api("reader").post("/provider/retain", _retain(world)).status == 403


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "exactly_one"),
        ({"id": "AGENT.md", "data_subject_id": "x"}, "not_both"),
        ({"data_subject_id": "x"}, "unsupported_selector"),
        ({"id": "../AGENT.md"}, "unknown_id"),
        ({"id": "lessons.md"}, "read_only_tier"),
    ],
)
def test_forget_refuses(world: World, body: dict[str, str], code: str) -> None:
    request_body = {"workspace_id": world.acme.id, **body}
    assert world.api("ada").post("/provider/forget", request_body).code == code


def test_the_workspace_chooses_the_provider(world: World) -> None:
    world.set(provider="native")
    ada = world.api("ada")
    body = _retain(world, content="Mail nora@example.org about it.")
    assert ada.post("/provider/retain", body).status == 200
    request_body = {
        "workspace_id": world.acme.id,
        "data_subject_id": "NORA@example.org",
    }
    assert ada.post("/provider/forget", request_body).data == {"removed": 1}


def test_a_full_file_hands_back_its_body(world: World) -> None:
    ada = world.api("ada")
    ada.post("/provider/retain", _retain(world))
    reply = ada.post("/provider/retain", _retain(world, content="x" * 4001))
    assert (reply.status, reply.code) == (409, "tier_full")
    assert reply.data["current_entries"] == "The heron is tall."


def test_unknown_fields_are_refused(world: World) -> None:
    body = _retain(world, color="red")
    assert world.api("ada").post("/provider/retain", body).status == 422


def test_compliance_forgets_a_person_wherever_records_name_them(world: World) -> None:
    registry.choose(world.acme, "native", by=world.actor("owner"))
    for caller in ("ada", "bob"):
        record = {"content": "Mia likes tea.", "subjects": ["mia@acme.example"]}
        assert world.api(caller).post("/records", record).status == 201
    body = {"workspace_id": world.acme.id, "data_subject_id": "mia@acme.example"}
    parameters = {**body, "agent_id": world.agents["ada"].id}
    for caller, status in (("operator", 403), ("viewer", 403), ("stranger", 404)):
        assert world.api(caller).post("/provider/forget", body).status == status, caller
    by_id = {"workspace_id": world.acme.id, "id": "AGENT.md"}
    assert world.api("compliance").post("/provider/forget", by_id).status == 403
    assert world.api("lena").post("/provider/forget", body).data == {"removed": 0}
    compliance = world.api("compliance")
    assert compliance.post("/provider/forget", parameters).data == {"removed": 1}
    assert compliance.post("/provider/forget", body).data == {"removed": 1}
    assert compliance.post("/provider/forget", body).data == {"removed": 0}


def test_a_daily_note_needs_its_day(world: World) -> None:
    for path, body in (
        ("/provider/retain", _retain(world, tier="daily")),
        ("/memory/tools/memory.read", {"tier": "daily"}),
    ):
        reply = world.api("ada").post(path, body)
        assert "daily needs a key" in reply.body.decode(), path
    saved = _retain(world, tier="daily", key="2026-05-21")
    reply = world.api("ada").post("/provider/retain", saved)
    assert reply.data["id"] == "daily/2026-05-21.md"

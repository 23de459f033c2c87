"""Naming an agent on the pages of keys and of the memory gateway: typed, not listed."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from memory.models import Agent, AgentKey, GatewayKey, GatewaySetup
from memory.web import agent_field
from tests.world import World

KEYS, GATEWAY = "/workspace/keys/", "/workspace/gateway/"
TURNS = f"{GATEWAY}turns/"
NO_SUCH_AGENT = "No agent here has this name. Choose one from the list."


def text(response: Any) -> str:
    return str(response.content.decode())


def key_form(name: str, **fields: Any) -> dict[str, Any]:
    return {"agent": name, "scopes": ["read", "write"], **fields}


@pytest.fixture
def owner(world: World) -> Client:
    """Return a client of the admin."""
    return world.page("owner")


@pytest.mark.parametrize("path", [KEYS, GATEWAY])
def test_a_page_offers_no_more_names_than_fit(
    world: World, owner: Client, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    crew = world.crews["support"]
    Agent.objects.bulk_create(
        Agent(workspace=world.acme, crew=crew, slug=f"agent-{number}")
        for number in range(500)
    )
    page = text(owner.get(path))
    names = page.split('<datalist id="agents">')[1].split("</datalist>")[0]
    assert names.count("<option") == agent_field.SUGGESTIONS == 250
    assert page.count("<datalist") == 1
    assert '<select name="agent"' not in page
    monkeypatch.setattr(agent_field, "SUGGESTIONS", 1)
    assert owner.post(KEYS, key_form("agent-499")).status_code == 201
    assert AgentKey.objects.filter(agent__slug="agent-499").exists()


@pytest.mark.parametrize("name", ["ada", "support/ada", " Ada ", "id"])
def test_an_agent_is_named_by_slug_crew_or_id(
    world: World, owner: Client, name: str
) -> None:
    ada = world.agents["ada"]
    name = ada.id if name == "id" else name
    before = AgentKey.objects.filter(agent=ada).count()
    assert owner.post(KEYS, key_form(name)).status_code == 201
    assert AgentKey.objects.filter(agent=ada).count() == before + 1
    assert owner.post(GATEWAY, key_form(name, user_id="mia")).status_code == 201
    assert GatewayKey.objects.get().agent == ada
    assert owner.post(TURNS, {**CURATED, "agent": name}).status_code == 302
    assert GatewaySetup.objects.get().agent == ada


CURATED = {
    "mode": "curated",
    "app_id": "default",
    "project_id": "default",
    "top_k": "8",
    "timeout_seconds": "10",
}


def test_without_a_name_a_set_up_is_of_every_agent(owner: Client) -> None:
    assert owner.post(TURNS, {**CURATED, "agent": ""}).status_code == 302
    assert GatewaySetup.objects.get().agent is None


@pytest.mark.parametrize("name", ["nobody", "olga", "<b>x</b>"])
def test_a_name_that_no_agent_has_is_a_fault_beside_its_field(
    owner: Client, name: str
) -> None:
    user_key = key_form(name, user_id="mia")
    for path, data, field in (
        (KEYS, key_form(name), "agent_agent"),
        (GATEWAY, user_key, "user_agent"),
        (TURNS, {**CURATED, "agent": name}, "turns_agent"),
    ):
        response = owner.post(path, data)
        assert response.status_code == 422
        page = text(response)
        assert NO_SUCH_AGENT in page
        assert f'id="{field}_error"' in page
        assert "<b>x" not in page
    assert not GatewayKey.objects.exists()
    assert not GatewaySetup.objects.exists()


def test_a_key_needs_a_name(owner: Client) -> None:
    assert owner.post(KEYS, key_form("")).status_code == 422


def test_a_slug_of_two_crews_wants_the_crew(world: World, owner: Client) -> None:
    crew = world.crews["billing"]
    Agent.objects.create(workspace=world.acme, crew=crew, slug="ada")
    response = owner.post(KEYS, key_form("ada"))
    assert response.status_code == 422
    assert "write billing/ada or support/ada" in text(response)
    assert owner.post(KEYS, key_form("billing/ada")).status_code == 201


def test_an_only_agent_is_there_from_the_start(world: World) -> None:
    pages = {path: text(world.page("owner").get(path)) for path in (KEYS, GATEWAY)}
    for page in pages.values():
        field = re.search(r'<input type="search" name="agent"[^>]*>', page)
        assert field is not None
        assert " value=" not in field[0]
    Agent.objects.filter(workspace=world.acme).exclude(slug="ada").delete()
    for path in (KEYS, GATEWAY):
        page = text(world.page("owner").get(path))
        field = re.search(r'<input type="search" name="agent"[^>]*>', page)
        assert field is not None
        assert ' value="ada"' in field[0]

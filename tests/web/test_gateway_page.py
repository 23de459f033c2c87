"""The memory gateway's page: issue, revoke, choose a set-up, never show a secret."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from memory.integrations.gateway import settings as gateway_settings
from memory.integrations.gateway import users
from memory.integrations.gateway.config import Secret
from memory.models import GatewayKey, GatewaySetup
from tests.world import World

PAGE = "/workspace/gateway/"
TURNS = f"{PAGE}turns/"
KEY = "uk_very-secret-0123456789"
SETUP = {
    "agent": "",
    "mode": "hybrid",
    "base_url": "https://memory.example/base/",
    "user_id": "mia",
    "user_key": KEY,
    "app_id": "default",
    "project_id": "default",
    "scope": ["current_chat", "resources"],
    "top_k": "8",
    "timeout_seconds": "10",
}


def _text(response: Any) -> str:
    return str(response.content.decode())


def _key_form_data(world: World, **fields: Any) -> dict[str, Any]:
    ada = world.agents["ada"].id
    return {"agent": ada, "user_id": "mia", "scopes": ["read", "write"], **fields}


@pytest.fixture
def owner(world: World) -> Client:
    """Return a client of the admin."""
    return world.page("owner")


@pytest.mark.parametrize(
    ("user", "status"),
    [("owner", 200), ("operator", 403), ("compliance", 403), ("viewer", 403),
     ("nobody", 302)],
)  # fmt: skip
def test_who_may(world: World, user: str, status: int) -> None:
    admin = world.actor("owner")
    key = users.issue(world.agents["ada"], "tom", by=admin).key
    row = gateway_settings.save({"mode": "curated"}, by=admin)
    client = world.page(user)
    assert client.get(PAGE).status_code == status
    home = _text(client.get("/workspace/members/", follow=True))
    assert ('href="/workspace/gateway/"' in home) == (status == 200)
    if status == 200:
        return
    posts = {
        PAGE: _key_form_data(world),
        f"{PAGE}{key.id}/revoke/": {},
        TURNS: SETUP,
        f"{TURNS}{row.id}/remove/": {},
    }
    for path, data in posts.items():
        assert client.post(path, data).status_code == status, path
    assert GatewayKey.objects.get().state == "active"
    assert GatewaySetup.objects.get().mode == "curated"


def test_another_workspace_finds_nothing(world: World) -> None:
    admin = world.actor("owner")
    key = users.issue(world.agents["ada"], "tom.of.the.shop", by=admin).key
    row = gateway_settings.save({"mode": "curated"}, by=admin)
    client = world.page("stranger")
    for path in (f"{PAGE}{key.id}/revoke/", f"{TURNS}{row.id}/remove/"):
        assert client.post(path).status_code == 404
    assert client.post(PAGE, _key_form_data(world)).status_code == 422
    ada = world.agents["ada"].id
    assert client.post(TURNS, {**SETUP, "agent": ada}).status_code == 422
    assert "tom.of.the.shop" not in _text(client.get(PAGE))


def test_a_key_is_shown_once(world: World, owner: Client) -> None:
    html = owner.post(PAGE, _key_form_data(world, app_id="shop", name="Beaver"))
    assert html.status_code == 201
    assert "no-store" in html.headers["Cache-Control"]
    key = GatewayKey.objects.get()
    assert (key.app_id, key.project_id, key.name) == ("shop", "", "Beaver")
    page = _text(html)
    token = page.partition('id="token">')[2].partition("<")[0]
    assert users.authenticate("mia", token)
    assert token not in _text(owner.get(PAGE))
    assert key.prefix in _text(owner.get(PAGE))
    assert owner.post(f"{PAGE}{key.id}/revoke/").status_code == 302
    assert users.authenticate("mia", token) is None
    assert "revoked" in _text(owner.get(PAGE))


@pytest.mark.parametrize(
    "fields",
    [{"user_id": ""}, {"user_id": "a/b"}, {"app_id": "a b"}, {"agent": "x"},
     {"expires_on": "2020-01-01"}],
)  # fmt: skip
def test_a_bad_key_is_refused_with_the_form(
    world: World, owner: Client, fields: dict[str, str]
) -> None:
    html = owner.post(PAGE, _key_form_data(world, **fields))
    assert html.status_code == 422
    assert 'class="fault"' in _text(html) or 'role="alert"' in _text(html)
    assert GatewayKey.objects.count() == 0


def test_choosing_where_turns_go(world: World, owner: Client) -> None:
    assert "Turns use curated memory." in _text(owner.get(PAGE))
    assert owner.post(TURNS, SETUP).status_code == 302
    page = _text(owner.get(PAGE))
    assert "https://memory.example/base" in page
    assert KEY not in page
    second_setup = {**SETUP, "user_key": "", "top_k": "5"}
    assert owner.post(TURNS, second_setup).status_code == 302
    row = GatewaySetup.objects.get()
    config = gateway_settings.settings_of(row).gateway
    assert config is not None
    assert (config.top_k, config.user_key) == (5, Secret(KEY))
    assert owner.post(f"{TURNS}{row.id}/remove/").status_code == 302
    assert GatewaySetup.objects.count() == 0


@pytest.mark.parametrize(
    "fields",
    [
        {"base_url": ""},
        {"base_url": f"https://x:{KEY}@y.example"},
        {"base_url": "http://127.0.0.1:8010"},
        {"user_id": ""},
        {"user_key": ""},
        {"scope": []},
        {"top_k": "0"},
        {"timeout_seconds": "0"},
        {"mode": "other"},
    ],
)
def test_a_bad_choice_is_refused_with_the_form(
    owner: Client, fields: dict[str, Any]
) -> None:
    html = owner.post(TURNS, {**SETUP, **fields})
    assert html.status_code == 422
    page = _text(html)
    assert 'class="fault"' in page or 'role="alert"' in page
    if "base_url" not in fields:
        assert KEY not in page
    assert GatewaySetup.objects.count() == 0
    assert owner.get(TURNS).status_code == 302

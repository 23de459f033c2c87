"""The remote provider as an admin sets it: reached, tested, and never inside a net."""

from __future__ import annotations

import socket
from typing import Any

import httpx
import pytest
from pytest_django import Settings

from memory import http_out
from memory.accounts import api_keys
from memory.models import ProviderPulse
from memory.providers import base, connection, parity_harness, registry, remote
from memory.providers.base import Binding
from memory.rules import errors
from memory.rules.permissions import system
from tests.world import World

KEY = "cmk_remote-key-0123456789"
URL = "https://memory.example.com/base"


def _binding(world: World) -> Binding:
    ada = world.agents["ada"]
    return Binding(
        by=world.actor("ada"),
        workspace_id=world.acme.id,
        agent_id=ada.id,
        crew_id=ada.crew_id,
    )


def _resolves(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    def resolve(*_args: object, **_options: object) -> list[Any]:
        return [(2, 1, 6, "", (address, 443)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)


def _record_requests(
    monkeypatch: pytest.MonkeyPatch, status: int = 200
) -> list[httpx.Request]:
    """Answer in place of the network; return what would have gone out."""
    requests: list[httpx.Request] = []

    def handle(_self: object, request: httpx.Request) -> httpx.Response:
        requests.append(request)
        answer: dict[str, Any] = {"ok": True, "hits": []}
        return httpx.Response(status, json=answer, request=request)

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", handle)
    return requests


def test_without_address_or_key_it_says_so(world: World) -> None:
    for values in ({}, {"remote_provider_url": URL}, {"remote_provider_key": KEY}):
        world.set(
            **{"remote_provider_url": None, "remote_provider_key": None, **values}
        )
        with pytest.raises(errors.Unavailable, match="no address or no key"):
            registry.provider(world.acme, _binding(world), remote.NAME)


def test_what_is_set_is_what_is_asked(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.set(remote_provider_url=URL + "/", remote_provider_key=KEY, provider="remote")
    _resolves(monkeypatch, "93.184.216.34")
    requests = _record_requests(monkeypatch)
    body = {"workspace_id": world.acme.id, "query": "refund"}
    reply = world.api("ada").post("/provider/recall", body)
    assert reply.data == {"hits": []}
    [request] = requests
    assert str(request.url) == "https://93.184.216.34/base/api/v1/provider/recall"
    assert request.headers["Host"] == "memory.example.com"
    assert request.extensions["sni_hostname"] == "memory.example.com"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert world.api("ada").get("/provider/health").data["ok"] is True


def test_a_name_that_leads_inside_is_not_followed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.set(remote_provider_url=URL, remote_provider_key=KEY, provider="remote")
    requests = _record_requests(monkeypatch)
    for inside in (
        "127.0.0.1",
        "10.0.0.7",
        "169.254.169.254",
        "::1",
        "::ffff:10.0.0.7",
    ):
        _resolves(monkeypatch, "93.184.216.34", inside)
        body = {"workspace_id": world.acme.id, "query": "refund"}
        reply = world.api("ada").post("/provider/recall", body)
        assert (reply.status, reply.code) == (503, "upstream_forbidden")
        assert "memory.example.com" not in reply.body.decode()
        assert inside not in reply.body.decode()
    assert requests == []
    outcome = connection.test(by=world.actor("owner"))
    assert not outcome.ok and "may not reach" in outcome.message


def test_an_installation_may_allow_private_addresses(
    world: World, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    with pytest.raises(errors.Invalid, match="private"):
        world.set(remote_provider_url="http://10.0.0.7:8000")
    settings.PROVIDER_PRIVATE = True
    world.set(remote_provider_url="http://10.0.0.7:8000", remote_provider_key=KEY)
    _resolves(monkeypatch, "10.0.0.7")
    assert _record_requests(monkeypatch) == []
    assert connection.test(by=world.actor("owner")).ok
    # Webhooks have a setting of their own.
    assert not http_out.is_allowed("10.0.0.7")
    settings.PROVIDER_PRIVATE = False
    assert not connection.test(by=world.actor("owner")).ok


@pytest.mark.parametrize("status", [401, 404, 500, 302])
def test_a_refusal_is_told_and_names_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    world.set(remote_provider_url=URL, remote_provider_key=KEY)
    _resolves(monkeypatch, "93.184.216.34")
    _record_requests(monkeypatch, status)
    outcome = connection.test(by=world.actor("owner"))
    assert not outcome.ok and outcome.message
    assert KEY not in outcome.message and "example.com" not in outcome.message
    stored = ProviderPulse.objects.get(provider="remote")
    assert not stored.ok


def test_health_alone_is_no_connection(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that answers, and knows none of our agents, does not work."""
    world.set(remote_provider_url=URL, remote_provider_key=KEY)
    _resolves(monkeypatch, "93.184.216.34")

    def handle(_self: object, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/health"):
            return httpx.Response(200, json={"ok": True}, request=request)
        problem = {"code": "scope_mismatch", "detail": "x"}
        return httpx.Response(404, json=problem, request=request)

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", handle)
    outcome = connection.test(by=world.actor("owner"))
    assert not outcome.ok
    assert "refuses a recall" in outcome.message


def test_an_answer_without_end_is_cut_off(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    class Endless(httpx.SyncByteStream):
        def __iter__(self) -> Any:
            while True:
                sizes.append(65_536)
                yield b"x" * 65_536

    transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=Endless()))
    binding = Binding(by=system("ws_1"), workspace_id="ws_1", agent_id="agent_1")
    provider = remote.Remote(binding, url=URL, key=KEY, transport=transport)
    with pytest.raises(base.UpstreamBadAnswer):
        provider.recall(base.Recall(workspace_id="ws_1", query="x"))
    assert sum(sizes) <= remote.ANSWER_BYTES + 2 * 65_536


def test_an_answer_of_too_many_values_is_not_built() -> None:
    body = b'{"ok": true, "hits": [' + b"[]," * remote.ANSWER_VALUES + b"[]]}"
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=body))
    binding = Binding(by=system("ws_1"), workspace_id="ws_1", agent_id="agent_1")
    provider = remote.Remote(binding, url=URL, key=KEY, transport=transport)
    assert not provider.health(base.Health()).ok


@pytest.mark.parametrize("role", ["operator", "viewer", "compliance", "ada"])
def test_only_an_admin_tests_it(world: World, role: str) -> None:
    with pytest.raises(errors.Forbidden):
        connection.test(by=world.actor(role))


def test_a_real_server_is_reached_with_what_is_set(
    shared_world: World, settings: Settings
) -> None:
    """Over HTTP, to an installation that knows our agents: this one."""
    settings.PROVIDER_PRIVATE = True
    ada = shared_world.agents["ada"]
    key = api_keys.issue_agent_key(ada, by=shared_world.system()).token
    with parity_harness.local_server() as url:
        shared_world.set(remote_provider_url=url, remote_provider_key=key)
        provider = registry.provider(
            shared_world.acme, _binding(shared_world), remote.NAME
        )
        home = shared_world.acme.id
        request = base.Retain(
            workspace_id=home, tier="AGENT", key="", content="Herons.", mode="append"
        )
        provider.retain(request)
        answer = provider.recall(base.Recall(workspace_id=home, query="herons"))
        assert [hit.source for hit in answer.hits] == ["AGENT.md"]
        outcome = connection.test(by=shared_world.actor("owner"))
        assert (outcome.ok, outcome.message) == (True, connection.WORKS)

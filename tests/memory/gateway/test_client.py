"""The gateway client: exact requests, one deadline, failures without content."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import logging
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import httpx
import pytest
from pytest_django import Settings

from memory.integrations.gateway.client import (
    ANSWER_BYTES,
    Category,
    GatewayClient,
    GatewayFailure,
    Operation,
    is_allowed,
)
from memory.integrations.gateway.config import GatewayConfig, Scope, Secret
from tests.memory.gateway import upstream
from tests.memory.gateway.upstream import Behaviour
from tests.waiting import LIMIT_SECONDS

KEY = "uk_very-secret-0123456789"
CONFIG = GatewayConfig(
    base_url="https://memory.example/base",
    user_id="mia",
    user_key=Secret(KEY),
    app_id="shop",
    project_id="desk",
    scope=(Scope.CURRENT_CHAT, Scope.RESOURCES),
    top_k=12,
    timeout_seconds=LIMIT_SECONDS,
)
PROMPT = "Where did we leave the invoice?"
MESSAGES = [{"sender_id": "mia", "role": "user", "timestamp": 1, "content": PROMPT}]


@pytest.fixture(autouse=True)
def _loopback(settings: Settings) -> None:
    settings.GATEWAY_PRIVATE = True


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def failure(behave: Behaviour, **settings: Any) -> GatewayFailure:
    """Return the failure of a search at a misbehaving upstream."""
    if behave in (upstream.silent, upstream.drips):
        # Both would go on for much longer: only the deadline ends them.
        settings = {"timeout_seconds": 0.5, **settings}
    with upstream.running(behave) as server:
        config = replace(CONFIG, base_url=server.url, **settings)
        with pytest.raises(GatewayFailure) as caught:
            run(GatewayClient(config).search("c1", PROMPT))
        assert len(server.requests) == 1
    return caught.value


# ── What is sent ─────────────────────────────────────────────────────────────
def test_the_exact_requests() -> None:
    with upstream.running() as server:
        client = GatewayClient(replace(CONFIG, base_url=server.url + "/"))
        assert run(client.search("c1", PROMPT)) == []
        assert run(client.add("chat:c1", MESSAGES))["message_count"] == 2
        assert run(client.flush("chat:c1")) == {"status": "extracted"}
    credentials = {
        "user_id": "mia",
        "user_key": KEY,
        "app_id": "shop",
        "project_id": "desk",
    }
    assert [(r.method, r.path, r.body) for r in server.requests] == [
        (
            "POST",
            "/memories/search",
            {
                **credentials,
                "conversation_id": "c1",
                "query": PROMPT,
                "scope": ["current_chat", "resources"],
                "top_k": 12,
            },
        ),
        (
            "POST",
            "/memories/add",
            {**credentials, "session_id": "chat:c1", "messages": MESSAGES},
        ),
        ("POST", "/memories/flush", {**credentials, "session_id": "chat:c1"}),
    ]
    for request in server.requests:
        assert request.headers["content-type"] == "application/json"
        assert KEY not in str(request.headers)


@pytest.mark.parametrize("base", ["https://memory.example/base", "http://x.y/a/b/"])
def test_a_transport_and_a_prefix(base: str) -> None:
    requests: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, json={"results": [1]})

    client = GatewayClient(
        replace(CONFIG, base_url=base), transport=httpx.MockTransport(handle)
    )
    assert run(client.search("c1", PROMPT)) == [1]
    assert run(client.search("c1", PROMPT)) == [1]
    assert str(requests[0].url) == base.rstrip("/") + "/memories/search"
    assert requests[0].headers["Host"] == requests[0].url.netloc.decode()
    assert len(requests) == 2


class Watched(httpx.AsyncBaseTransport):
    """A transport that counts how often it is closed."""

    def __init__(self, body: bytes) -> None:
        self.body, self.closed = body, 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=self.body, request=request)

    async def aclose(self) -> None:
        self.closed += 1


def test_only_a_transport_of_its_own_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    transport = Watched(b'{"results": []}')
    assert run(GatewayClient(CONFIG, transport=transport).search("c1", PROMPT)) == []
    assert transport.closed == 0
    closed: list[httpx.AsyncClient] = []
    close = httpx.AsyncClient.aclose

    async def aclose(client: httpx.AsyncClient) -> None:
        closed.append(client)
        await close(client)

    monkeypatch.setattr(httpx.AsyncClient, "aclose", aclose)
    for behave in (upstream.answers(), upstream.answers(500)):
        with upstream.running(behave) as server:
            client = GatewayClient(replace(CONFIG, base_url=server.url))
            with contextlib.suppress(GatewayFailure):
                run(client.search("c1", PROMPT))
    assert len(closed) == 2 and all(client.is_closed for client in closed)


@pytest.mark.parametrize("more", [0, 1])
def test_a_response_has_a_largest_size(more: int) -> None:
    body = b'{"results": []}'
    padded = body + b" " * (ANSWER_BYTES + more - len(body))
    search = GatewayClient(CONFIG, transport=Watched(padded)).search("c1", PROMPT)
    if not more:
        assert run(search) == []
        return
    with pytest.raises(GatewayFailure) as caught:
        run(search)
    assert (caught.value.category, caught.value.status) == (Category.SIZE, 200)


def test_no_proxy_of_the_system_gets_between(monkeypatch: pytest.MonkeyPatch) -> None:
    with upstream.running(upstream.answers(500)) as proxy, upstream.running() as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        client = GatewayClient(replace(CONFIG, base_url=server.url))
        assert run(client.search("c1", PROMPT)) == []
        assert proxy.requests == []


# ── What goes wrong ──────────────────────────────────────────────────────────
BAD: list[tuple[Behaviour, Category, int | None]] = [
    (upstream.silent, Category.TIMEOUT, None),
    (upstream.drips, Category.TIMEOUT, None),
    (upstream.hangs_up, Category.NETWORK, None),
    (lambda peer, _: peer.sendall(b"SMTP 220 hello\r\n\r\n"), Category.NETWORK, None),
    *[
        (upstream.answers(status, {"detail": KEY}), Category.STATUS, status)
        for status in (302, 400, 401, 403, 404, 422, 429, 500, 503)
    ],
    (upstream.answers(200, b"{"), Category.JSON, 200),
    (upstream.answers(200, b""), Category.JSON, 200),
    (upstream.answers(200, b"\xff\xfe"), Category.JSON, 200),
    (upstream.answers(200, b"[" * 200_000), Category.SIZE, 200),
    (upstream.answers(200, []), Category.ANSWER, 200),
    (upstream.answers(200, "text"), Category.ANSWER, 200),
    (upstream.answers(200, {}), Category.ANSWER, None),
    (upstream.answers(200, {"data": {"results": []}}), Category.ANSWER, None),
    *[
        (upstream.answers(200, {"results": bad}), Category.ANSWER, None)
        for bad in (None, "x", 1, {"a": 1})
    ],
    (
        upstream.answers(200, gzip.compress(b"{}"), Content_Encoding="gzip"),
        Category.ANSWER,
        200,
    ),
]


@pytest.mark.parametrize(("behave", "category", "status"), BAD)
def test_a_misbehaving_upstream(
    behave: Behaviour, category: Category, status: int | None
) -> None:
    error = failure(behave)
    assert (error.operation, error.category) == (Operation.SEARCH, category)
    assert error.status == status
    suffix = f" status={status}" if status else ""
    assert str(error) == f"Memory Gateway search failed: {category}{suffix}"


def test_a_flood_is_cut_off() -> None:
    error = failure(upstream.floods)
    assert (error.category, error.status) == (Category.SIZE, 200)


def test_a_refused_connection_and_a_name_that_is_none() -> None:
    with upstream.running() as server:
        closed_url = server.url
    for base in (closed_url, "http://no-such-host.invalid"):
        with pytest.raises(GatewayFailure) as caught:
            run(GatewayClient(replace(CONFIG, base_url=base)).flush("chat:c1"))
        assert caught.value.category is Category.NETWORK


def test_a_transport_that_raises_anything() -> None:
    def handle(_request: httpx.Request) -> httpx.Response:
        raise RuntimeError(KEY)

    client = GatewayClient(CONFIG, transport=httpx.MockTransport(handle))
    with pytest.raises(GatewayFailure) as caught:
        run(client.add("chat:c1", MESSAGES))
    assert caught.value.category is Category.NETWORK


def test_a_redirect_is_not_followed() -> None:
    with upstream.running() as other:
        redirect = upstream.answers(307, {}, Location=other.url + "/memories/search")
        assert failure(redirect).status == 307
        assert other.requests == []


def test_cancelling_is_not_swallowed() -> None:
    async def cancelled() -> None:
        with upstream.running(upstream.silent) as server:
            client = GatewayClient(replace(CONFIG, base_url=server.url))
            task = asyncio.create_task(client.search("c1", PROMPT))
            await asyncio.to_thread(server.wait_for, 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    run(cancelled())


# ── What is told ─────────────────────────────────────────────────────────────
@pytest.mark.parametrize("behave", [row[0] for row in BAD])
def test_no_output_holds_the_key_or_the_text(
    behave: Behaviour, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    error = failure(behave)
    outputs = [str(error), repr(error), repr(vars(error)), caplog.text]
    outputs += [repr(record.__dict__) for record in caplog.records]
    joined_text = json.dumps(outputs)
    assert KEY not in joined_text
    assert PROMPT not in joined_text
    # Nothing inside leads back to the request.
    assert error.__cause__ is None
    assert error.__context__ is None


def test_a_client_shows_nothing() -> None:
    client = GatewayClient(CONFIG)
    assert KEY not in f"{client!r} {client} {CONFIG!r}"


# ── Where it may go ──────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "base",
    [
        "http://127.0.0.1:8010",
        "http://10.0.0.7",
        "http://[::1]",
        "http://169.254.169.254/latest",
        "http://[::ffff:127.0.0.1]",
        "http://[64:ff9b::7f00:1]",
        "http://0.0.0.0",
    ],
)
def test_a_private_address_needs_the_setting(base: str, settings: Settings) -> None:
    assert is_allowed(base)
    settings.GATEWAY_PRIVATE = False
    assert not is_allowed(base)
    with pytest.raises(GatewayFailure) as caught:
        run(GatewayClient(replace(CONFIG, base_url=base)).search("c1", PROMPT))
    assert caught.value.category is Category.ADDRESS


def test_a_name_is_judged_by_every_address_it_has(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.GATEWAY_PRIVATE = False
    assert is_allowed("https://memory.example")

    async def resolve(*_: Any, **__: Any) -> list[Any]:
        return [(2, 1, 6, "", (ip, 80)) for ip in ("93.184.216.34", "127.0.0.1")]

    monkeypatch.setattr(asyncio.base_events.BaseEventLoop, "getaddrinfo", resolve)
    with pytest.raises(GatewayFailure) as caught:
        run(GatewayClient(CONFIG).search("c1", PROMPT))
    assert caught.value.category is Category.ADDRESS


@pytest.mark.parametrize(
    ("base", "port"),
    [
        ("https://memory.example/base", 443),
        ("http://memory.example", 80),
        ("https://memory.example:8443", 8443),
        ("http://memory.example:443", 443),
    ],
)
@pytest.mark.parametrize(
    ("ips", "category"),
    [((), Category.ADDRESS), (("fe80::1%eth0",), Category.ADDRESS)],
)
def test_a_name_is_looked_up_at_the_port_of_its_address(
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    base: str,
    port: int,
    ips: tuple[str, ...],
    category: Category,
) -> None:
    settings.GATEWAY_PRIVATE = False
    lookups: list[tuple[str, int]] = []

    async def resolve(_self: Any, host: str, port: int, **_: Any) -> list[Any]:
        lookups.append((host, port))
        return [(10, 1, 6, "", (ip, port, 0, 2)) for ip in ips]

    monkeypatch.setattr(asyncio.base_events.BaseEventLoop, "getaddrinfo", resolve)
    with pytest.raises(GatewayFailure) as caught:
        run(GatewayClient(replace(CONFIG, base_url=base)).search("c1", PROMPT))
    assert (caught.value.category, lookups) == (category, [("memory.example", port)])


def test_the_address_that_was_judged_is_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with upstream.running() as server:
        port = server.url.rpartition(":")[2]
        hosts: list[str] = []

        async def resolve(_self: Any, host: str, *_: Any, **__: Any) -> list[Any]:
            hosts.append(host)
            return [(2, 1, 6, "", ("127.0.0.1", int(port)))]

        monkeypatch.setattr(asyncio.base_events.BaseEventLoop, "getaddrinfo", resolve)
        config = replace(CONFIG, base_url=f"http://memory.example:{port}")
        assert run(GatewayClient(config).search("c1", PROMPT)) == []
        assert hosts[0] == "memory.example"
        assert set(hosts) <= {"memory.example", "127.0.0.1"}
        assert server.requests[0].headers["host"] == f"memory.example:{port}"

"""One request to a gateway: search, add or flush. Nothing is retried.

One deadline covers the whole exchange, a slow response included; a long response is
refused; redirects and proxies are not used. A failure names the operation, the category
and the status, and nothing that was sent or received.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import socket
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from enum import StrEnum
from typing import Any, Final

import httpx
from django.conf import settings

from memory import http_out
from memory.integrations.gateway.config import GatewayConfig
from memory.measurements import tracing
from memory.rules.json_structure import is_within

ANSWER_BYTES: Final = 4 * 1024 * 1024
ANSWER_VALUES: Final = 100_000
JSON_TYPE: Final = "application/json"


class Operation(StrEnum):
    SEARCH = "search"
    ADD = "add"
    FLUSH = "flush"


class Category(StrEnum):
    """How an operation failed."""

    TIMEOUT = "timeout"
    NETWORK = "network"
    ADDRESS = "forbidden_address"
    STATUS = "http_status"
    JSON = "invalid_json"
    ANSWER = "invalid_answer"
    SIZE = "answer_too_large"
    SETUP = "setup"


class GatewayFailure(Exception):
    """An operation failed; safe to log and to store."""

    def __init__(
        self, operation: Operation, category: Category, status: int | None = None
    ) -> None:
        self.operation, self.category, self.status = operation, category, status
        suffix = f" status={status}" if status is not None else ""
        super().__init__(f"Memory Gateway {operation} failed: {category}{suffix}")


class _Stop(Exception):
    def __init__(self, category: Category, status: int | None = None) -> None:
        self.category, self.status = category, status


# ── Addresses ────────────────────────────────────────────────────────────────
def _may_reach(text: str) -> bool:
    return bool(settings.GATEWAY_PRIVATE) or http_out.is_public(
        ipaddress.ip_address(text)
    )


def is_allowed(base_url: str) -> bool:
    """Return whether a base address may be stored: private IPs need the setting."""
    try:
        return _may_reach(httpx.URL(base_url).host)
    except ValueError:
        return True  # a host name: checked whenever it is resolved


async def _resolved(host: str, port: int) -> str:
    """Return the address to connect to; one forbidden address refuses the name."""
    loop = asyncio.get_running_loop()
    try:
        results = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise _Stop(Category.NETWORK) from None
    addresses = [str(address[4][0]).partition("%")[0] for address in results]
    if not addresses or not all(_may_reach(address) for address in addresses):
        raise _Stop(Category.ADDRESS)
    return addresses[0]


class GatewayClient:
    """Sends requests to one gateway as one user.

    A host name is resolved once, the address is checked, and that address is connected
    to. With a ``transport`` of the caller's, addresses are left to the transport.
    """

    def __init__(
        self,
        config: GatewayConfig,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._config, self._transport = config, transport
        self._base = config.base_url.rstrip("/")

    def __repr__(self) -> str:
        return "GatewayClient()"

    # ── The three calls ──────────────────────────────────────────────────────
    async def search(self, conversation_id: str, query: str) -> list[Any]:
        """Return the raw ``results``; raise GatewayFailure."""
        config = self._config
        body = {
            "conversation_id": conversation_id,
            "query": query,
            "scope": [scope.value for scope in config.scope],
            "top_k": config.top_k,
        }
        results = (await self._post(Operation.SEARCH, body)).get("results")
        if not isinstance(results, list):
            raise GatewayFailure(Operation.SEARCH, Category.ANSWER)
        return results

    async def add(
        self, session_id: str, messages: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Send messages; raise GatewayFailure."""
        body = {"session_id": session_id, "messages": [dict(m) for m in messages]}
        return await self._post(Operation.ADD, body)

    async def flush(self, session_id: str) -> dict[str, Any]:
        """Make what was added searchable; raise GatewayFailure."""
        return await self._post(Operation.FLUSH, {"session_id": session_id})

    # ── Requests ─────────────────────────────────────────────────────────────
    async def _post(
        self, operation: Operation, fields: dict[str, Any]
    ) -> dict[str, Any]:
        """Send once and return the response's object.

        GatewayFailure is raised outside every ``except``: the exception inside holds
        the request, and with it the key.
        """
        try:
            async with asyncio.timeout(self._config.timeout_seconds):
                return await self._exchange(operation, fields)
        except _Stop as stop:
            category, status = stop.category, stop.status
        except (TimeoutError, httpx.TimeoutException):
            category, status = Category.TIMEOUT, None
        except Exception:  # noqa: BLE001  (a transport may raise anything)
            category, status = Category.NETWORK, None
        raise GatewayFailure(operation, category, status)

    async def _exchange(
        self, operation: Operation, fields: dict[str, Any]
    ) -> dict[str, Any]:
        with tracing.outbound(tracing.GATEWAY) as call:
            request = await self._request(operation, self._body(fields))
            client = httpx.AsyncClient(
                transport=self._transport, trust_env=False, follow_redirects=False
            )
            try:
                response = await client.send(request, stream=True)
                call.answered(response.status_code)
                async with aclosing(response):
                    return await _read(response)
            finally:
                if self._transport is None:
                    await client.aclose()

    def _body(self, fields: dict[str, Any]) -> bytes:
        config = self._config
        body = {
            "user_id": config.user_id,
            "user_key": config.user_key.reveal(),
            "app_id": config.app_id,
            "project_id": config.project_id,
            **fields,
        }
        return json.dumps(body).encode()

    async def _request(self, operation: Operation, body: bytes) -> httpx.Request:
        url = httpx.URL(f"{self._base}/memories/{operation}")
        host, netloc = url.raw_host.decode("ascii"), url.netloc.decode("ascii")
        seconds = self._config.timeout_seconds
        extensions: dict[str, Any] = {"timeout": httpx.Timeout(seconds).as_dict()}
        if self._transport is None:
            port = url.port or (443 if url.scheme == "https" else 80)
            url = url.copy_with(host=await _resolved(host, port))
            extensions["sni_hostname"] = host
        headers = {
            "Host": netloc,
            "Content-Type": JSON_TYPE,
            "Accept": JSON_TYPE,
            # A compressed response could be a decompression bomb.
            "Accept-Encoding": "identity",
            "User-Agent": "crewship-memory",
        }
        return httpx.Request(
            "POST", url, content=body, headers=headers, extensions=extensions
        )


async def _read(response: httpx.Response) -> dict[str, Any]:
    """Return the object of a good response, or raise _Stop."""
    status = response.status_code
    if not response.is_success:
        raise _Stop(Category.STATUS, status)
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise _Stop(Category.ANSWER, status)
    raw = bytearray()
    async for piece in response.aiter_bytes():
        raw += piece
        if len(raw) > ANSWER_BYTES:
            raise _Stop(Category.SIZE, status)
    if not is_within(bytes(raw), values=ANSWER_VALUES):
        raise _Stop(Category.SIZE, status)
    try:
        answer = json.loads(bytes(raw))
    except (ValueError, RecursionError):
        raise _Stop(Category.JSON, status) from None
    if not isinstance(answer, dict):
        raise _Stop(Category.ANSWER, status)
    return answer
